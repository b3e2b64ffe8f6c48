"""Chat rendering against transformers' apply_chat_template."""
import json

import harness
from harness import case, trainer

# The formats of the families supported, as their models ship them.
QWEN2 = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
LLAMA3 = (
    "{% set loop_messages = messages %}{% for message in loop_messages %}"
    "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'"
    "+ message['content'] | trim + '<|eot_id|>' %}"
    "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}"
    "{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}")
CHATS = [
    [("user", "Hello")],
    [("system", "Be brief."), ("user", "Hi  "), ("assistant", " Yes?\n"), ("user", "\n1 < 2 && 'x'")],
    [("user", "é 日本 🤦"), ("assistant", "a"), ("user", "b"), ("assistant", "c"), ("user", "")],
    [("system", ""), ("user", "{{ not a template }} {% if %} <|im_end|>")],
    [("user", "x" * 3000)],
]
ODD = [
    [("assistant", "I begin"), ("user", "odd")],
    [("user", "one"), ("user", "two")],
    [("system", "a"), ("system", "b"), ("user", "c")],
]


def directory_with(template, name, **tokens):
    directory = harness.SCRATCH / name
    directory.mkdir()
    harness.byte_tokenizer(directory, 300)
    (directory / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": template, **tokens}))
    return directory


def compare(directory, chats=CHATS, may_refuse=False):
    """Both render alike, or (with may_refuse) both refuse."""
    from jinja2.exceptions import TemplateError
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(directory)
    plain = Tokenizer.from_file(str(directory / "tokenizer.json"))
    expected = []  # (messages, text)
    for chat in chats:
        messages = [{"role": role, "content": content} for role, content in chat]
        try:
            expected.append((messages, tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True)))
        except TemplateError:
            assert may_refuse
            trainer("tokenize", "--model", directory, "--texts", "-",
                    lines=[{"messages": messages}], expect=2)
    lines = trainer("tokenize", "--model", directory, "--texts", "-",
                    lines=[{"messages": messages} for messages, _ in expected])
    assert len(lines) == len(expected) > 0
    for ours, (_, theirs) in zip(lines, expected):
        assert ours["text"] == theirs, f"{ours['text']!r} instead of {theirs!r}"
        assert ours["ids"] == plain.encode(theirs, add_special_tokens=False).ids


@case
def smollm2():
    compare(harness.MODEL, CHATS + ODD)


@case
def qwen2():
    compare(directory_with(QWEN2, "qwen2", eos_token="<|im_end|>"), CHATS + ODD)


@case
def llama3():
    compare(directory_with(LLAMA3, "llama3", bos_token="<|begin_of_text|>",
                           eos_token="<|eot_id|>"), CHATS + ODD)


@case
def template_language():
    """White space control, loops, namespaces, slices, filters, tests, methods, macros."""
    pieces = [
        "{% for m in messages %}\n  {{ m.role }}\n{% endfor %}\n",
        "{%- for m in messages -%}\n {{- m['content'] | trim }} {{ loop.index }}/{{ loop.length }}"
        "{% if not loop.last %},{% else %}.{% endif %}\n{%- endfor -%}\n",
        "{% set ns = namespace(n=0, s='') %}{% for m in messages %}{% set ns.n = ns.n + 1 %}"
        "{% set x = ns.n %}{% endfor %}{{ ns.n }} {{ x is defined }} {{ y | default('none') }}",
        "{{ messages[-1].content[::-1] }} {{ messages[1:] | length }} {{ messages[:1][0].role }}",
        "{{ 'a' ~ 1 ~ true ~ none }} {{ 7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 * 3 + 1 }} {{ 1.5 }}",
        "{{ messages[0].content.split('l') | join('-') }} {{ ' x '.strip() }}|{{ 'aXb'.lower() }} "
        "{{ 'abc'.startswith('ab') and not 'abc'.endswith('x') }} {{ 'n' in 'banana' }}",
        "{% macro wrap(text, mark='*') %}{{ mark }}{{ text }}{{ mark }}{% endmacro %}"
        "{{ wrap('a') }}{{ wrap(text='b', mark='_') }}",
        "{% for m in messages if m.role == 'user' %}{{ loop.index0 }}{{ m.content }}{% else %}none"
        "{% endfor %}   {# a comment #}\n  {%+ if true %}y{% endif %}\n",
        "{{ messages[0] | tojson }} {{ [1, 'a\"b', none, true, {'k': 2.5}] | tojson }}",
        "{% if messages[0].role is string and messages is iterable and z is not defined %}yes"
        "{% elif 1 %}no{% endif %} {{ 'odd' if messages | length % 2 else 'even' }}",
        "{% set text %}block {{ messages | length }}{% endset %}{{ text | upper }}",
        "{%- if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{%- else %}"
        "{% set rest = messages %}{%- endif %}{{ rest | length }}\n\n   {%- if true -%}   \n x\n"
        "{%- endif %}\n",
        "{{ range(3) | list }} {{ range(1, 7, 2) | list }} {{ ('a', 'b')[1] }} {{ not false == true }}",
        "{% for k, v in messages[0].items() %}{{ k }}={{ v }};{% endfor %}{{ messages[0].get('x') }}",
        "{% if strftime_now is defined %}{{ strftime_now('%Y') }}{% endif %}{{ range is defined }}",
        "{% generation %}in{% endgeneration %}{% for i in range(9) %}{% if i == 2 %}{% continue %}"
        "{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    ]
    for i, piece in enumerate(pieces):
        compare(directory_with("<|im_start|>" + piece + "end", f"piece{i}"), CHATS[:3])


@case
def templates_that_refuse():
    refuses = ("{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}"
               "{% endif %}{{ m.content }}{% endfor %}")
    directory = directory_with(refuses, "refuses")
    error = trainer("tokenize", "--model", directory, "--texts", "-", expect=2,
                    lines=[{"messages": [{"role": "system", "content": "x"}]}])
    assert "no system" in error, error
    for i, (template, message) in enumerate((
            ("{% include 'x' %}", "include"), ("{{ messages | mystery }}", "mystery"),
            ("{{ 'a' ", "never ends"), ("{% if true %}", "endif"), ("{{ f() }}", "'f'"))):
        directory = directory_with(template, f"bad{i}")
        error = trainer("tokenize", "--model", directory, "--texts", "-", expect=2,
                        lines=[{"messages": [{"role": "user", "content": "x"}]}])
        assert message in error, error


harness.main()
