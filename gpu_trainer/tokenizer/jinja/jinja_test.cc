#include "gpu_trainer/tokenizer/jinja/jinja.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/file.h"
#include "gpu_trainer/tokenizer/chat.h"

namespace whetstone {
namespace {

using jinja::Value;
using ::testing::HasSubstr;

std::string Render(const std::string& source) {
  const auto parsed = JinjaTemplate::Parse(source);
  if (!parsed.ok()) return "parse: " + std::string(parsed.status().message());
  const auto text = parsed->Render(
      {{"name", Value::Of("Ada")},
       {"list", Value::OfList({Value::Of(int64_t{1}), Value::Of("x"), Value::None()})},
       {"dict", Value::OfDict({{"k", Value::Of(2.5)}, {"v", Value::Of(true)}})}});
  if (!text.ok()) return "render: " + std::string(text.status().message());
  return *text;
}

TEST(JinjaTest, Expressions) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{{ name }}", "Ada"},
      {"{{ name | upper ~ '!' }}", "ADA!"},
      {"{{ 1 + 2 * 3 - 4 // 3 }} {{ 7 % 4 }} {{ 7 / 2 }}", "6 3 3.5"},
      {"{{ list }} {{ list[0] }} {{ list[-1] }} {{ list[1:] | length }}",
       "[1, 'x', None] 1 None 2"},
      {"{{ dict.k }} {{ dict['v'] }} {{ dict.missing }}|", "2.5 True |"},
      {"{{ 'yes' if name is defined and not nothing else 'no' }}", "yes"},
      {"{{ 'd' in name }} {{ 1 not in list }}", "True False"},
      {"{{ name[::-1] }} {{ name[1:] }}", "adA da"},
      {"{{ list | tojson }} {{ dict | tojson }}", "[1, \"x\", null] {\"k\": 2.5, \"v\": true}"},
      {"{{ ' a '.strip() }}{{ 'a,b'.split(',')[1] }}", "ab"},
      {"{{ nothing | default('d') }}{{ '' | default('e', true) }}", "de"},
  };
  for (const auto& [source, want] : cases) EXPECT_EQ(Render(source), want) << source;
}

TEST(JinjaTest, Statements) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{% for x in list %}{{ loop.index }}{{ x }}{% if not loop.last %},{% endif %}{% endfor %}",
       "11,2x,3None"},
      {"{% for x in [] %}a{% else %}b{% endfor %}", "b"},
      {"{% set n = 1 %}{% for x in list %}{% set n = 2 %}{% endfor %}{{ n }}", "1"},
      {"{% set s = namespace(n=0) %}{% for x in list %}{% set s.n = s.n + 1 %}{% endfor %}{{ s.n "
       "}}",
       "3"},
      {"{% if false %}a{% elif true %}b{% else %}c{% endif %}", "b"},
      {"{% macro m(a, b='z') %}{{ a }}{{ b }}{% endmacro %}{{ m('x') }}{{ m(b='1', a='2') }}",
       "xz21"},
      {"a  {%- if true %} b {% endif -%}  c", "a b c"},
      {"x\n  {% if true %}\ny\n  {% endif %}\nz\n", "x\ny\nz"},
      {"{# gone #}{{ '{{' }}", "{{"},
  };
  for (const auto& [source, want] : cases) EXPECT_EQ(Render(source), want) << source;
}

TEST(JinjaTest, ErrorsNameLineAndCause) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\n\n{{ name | mystery }}", "render: line 3: the filter 'mystery' is not supported"},
      {"{{ 1 / 0 }}", "division by zero"},
      {"{{ nothing.x }}", "render: line 1"},
      {"\n{% include 'x' %}", "parse: line 2"},
      {"{% if true %}", "endif"},
      {"{{ 'x", "never ends"},
      {"{{ name", "never ends"},
      {"{{ }}", "expected a value"},
      {"{{ a ? b }}", "unexpected character '?'"},
      {"{% endif %}", "not supported"},
      {"{{ raise_exception('no system role') }}", "no system role"},
      {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "too deeply"},
      {"{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", "runs away"},
      {"{{ range(999999999) }}", "too long"},
      {std::string(5000, '('), ""},
      {"{{ " + std::string(5000, '(') + " }}", "nested too deeply"},
      {"{{ " + std::string(5000, '-') + "1 }}", "nested too deeply"},
      {"{{ " + std::string(5000, '[') + " }}", "nested too deeply"},
  };
  for (const auto& [source, message] : cases) {
    EXPECT_THAT(Render(source), HasSubstr(message)) << source.substr(0, 60);
  }
}

TEST(ChatFormatTest, RendersAndFindsTheEndOfTurn) {
  auto dir = TempDir::Make("chat");
  ASSERT_TRUE(dir.ok());
  EXPECT_EQ(ChatFormat::Load(dir->path()).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(
      WriteFileAtomically(
          dir->path() + "/tokenizer_config.json",
          R"({"bos_token": {"content": "<b>"}, "eos_token": "<e>", "chat_template": "old"})")
          .ok());
  ASSERT_TRUE(WriteFileAtomically(dir->path() + "/chat_template.jinja",
                                  "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>"
                                  "{{ m.content }}<|end|>\n{% endfor %}"
                                  "{% if add_generation_prompt %}<|assistant|>{% endif %}")
                  .ok());
  auto chat = ChatFormat::Load(dir->path());
  ASSERT_TRUE(chat.ok()) << chat.status();
  EXPECT_EQ(chat->end_of_turn(), "<|end|>");
  EXPECT_EQ(*chat->Render({{"user", "Hi {{ x }}"}}, ChatFormat::kGenerate),
            "<b><|user|>Hi {{ x }}<|end|>\n<|assistant|>");
  EXPECT_EQ(*chat->Render({{"user", "a"}, {"assistant", "b"}}, ChatFormat::kClosed),
            "<b><|user|>a<|end|>\n<|assistant|>b<|end|>\n");
  EXPECT_FALSE(chat->Render({}, ChatFormat::kGenerate).ok());

  ASSERT_TRUE(WriteFileAtomically(dir->path() + "/chat_template.jinja",
                                  "{{ date_string | default('today') }}|{% if enable_thinking is "
                                  "defined and enable_thinking is false %}quiet{% endif %}")
                  .ok());
  chat = ChatFormat::Load(dir->path());
  ASSERT_TRUE(chat.ok()) << chat.status();
  EXPECT_EQ(*chat->Render({{"user", "x"}}, ChatFormat::kGenerate), "today|");
  EXPECT_EQ(*chat->Render({{"user", "x"}}, ChatFormat::kGenerate,
                          {.thinking = false, .date = "1 Jan 2025"}),
            "1 Jan 2025|quiet");

  ASSERT_TRUE(
      WriteFileAtomically(dir->path() + "/chat_template.jinja", "{{ messages[-1].content }}").ok());
  EXPECT_EQ(ChatFormat::Load(dir->path())->end_of_turn(), "<e>");
  ASSERT_TRUE(WriteFileAtomically(dir->path() + "/chat_template.jinja", "{% block x %}").ok());
  EXPECT_THAT(std::string(ChatFormat::Load(dir->path()).status().message()),
              HasSubstr("chat_template.jinja: chat template: line 1"));
}

}  // namespace
}  // namespace whetstone
