"""Chat rendering against transformers' apply_chat_template."""
import importlib.util
import itertools
import json
import pathlib

import fixtures
import harness
from harness import case, trainer

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


THOUGHTS = [
    [("user", "a"), ("assistant", "<think>\nhm\n</think>\n\nyes"), ("user", "b")],
    [("user", "a"), ("assistant", "<think>\n\nhm, </think>no</think>\n\n\nyes\n"), ("user", "b"),
     ("assistant", "plain"), ("user", "</think>")],
    [("system", "s"), ("user", "<tool_response>x</tool_response>"), ("assistant", "<think>"),
     ("user", "<tool_response>\ny</tool_response>")],
    [("user", "q"), ("assistant", "<think>\nlast\n</think>\n\nanswer")],
]


def shipped_template(name):
    """The template of a family as its maker ships it: TRL keeps byte-identical copies, which are read
    here as data (nothing of it is imported)."""
    package = importlib.util.find_spec("trl")
    assert package, "TRL's templates are missing; deploy/setup.sh --tests installs them"
    folder = pathlib.Path(package.submodule_search_locations[0]) / "chat_templates"
    return (folder / f"{name}.jinja").read_text()


def directory_with(template, name, family="qwen3", **tokens):
    directory = harness.SCRATCH / name
    directory.mkdir()
    fixtures.write_family_tokenizer(directory, family, vocab=600)
    (directory / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": template, **tokens}))
    return directory


def compare(directory, chats=CHATS, may_refuse=False, options=({},)):
    """Both render alike, or (with may_refuse) both refuse. `options` are what the caller may choose,
    in our names."""
    from jinja2.exceptions import TemplateError
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(directory)
    plain = Tokenizer.from_file(str(directory / "tokenizer.json"))
    theirs_of = {"thinking": "enable_thinking", "date": "date_string"}
    expected = []  # (line, text)
    for chat, option in itertools.product(chats, options):
        messages = [{"role": role, "content": content} for role, content in chat]
        try:
            expected.append(({"messages": messages, **option}, tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True,
                **{theirs_of[key]: value for key, value in option.items()})))
        except TemplateError:
            assert may_refuse
            trainer("tokenize", "--model", directory, "--texts", "-",
                    lines=[{"messages": messages, **option}], expect=2)
    lines = trainer("tokenize", "--model", directory, "--texts", "-",
                    lines=[line for line, _ in expected])
    assert len(lines) == len(expected) > 0
    for ours, (line, theirs) in zip(lines, expected):
        assert ours["text"] == theirs, f"{line}: {ours['text']!r} instead of {theirs!r}"
        assert ours["ids"] == plain.encode(theirs, add_special_tokens=False).ids


@case
def smollm2():
    compare(harness.MODEL, CHATS + ODD + THOUGHTS)


@case
def qwen2_5():
    compare(directory_with(shipped_template("qwen2_5"), "qwen2_5", "qwen2", eos_token="<|im_end|>"),
            CHATS + ODD + THOUGHTS)


@case
def qwen3():
    for name in ("qwen3", "qwen3_instruct_2507"):
        compare(directory_with(shipped_template(name), name, eos_token="<|im_end|>"),
                CHATS + ODD + THOUGHTS, options=({}, {"thinking": True}, {"thinking": False}))


@case
def llama3():
    for name in ("llama3", "llama3_1", "llama3_2"):
        # 3.2 asks for today's date: given here, so that midnight is no trap.
        options = ({"date": "9 May 2025"},) if name == "llama3_2" else ({}, {"date": "9 May 2025"})
        compare(directory_with(shipped_template(name), name, "llama3", bos_token="<|begin_of_text|>",
                               eos_token="<|eot_id|>"), CHATS + ODD + THOUGHTS, options=options)


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
    for i in range(4):
        template = "<|im_start|>" + "|end\n".join(pieces[i::4]) + "end"
        compare(directory_with(template, f"pieces{i}"), CHATS[:3])


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
