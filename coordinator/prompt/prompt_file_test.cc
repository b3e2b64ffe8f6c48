#include "coordinator/prompt/prompt_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/file.h"
#include "common/philox.h"
#include "common/problem/problem_hash.h"
#include "common/tree_testing.h"
#include "coordinator/prompt/render.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

constexpr char kGood[] = R"md(---
id: scale
signature: void scale(float s, const float* a, float* b, int n)
args:
  s: {type: f32, fill: uniform(1, 2)}
  a: {type: f32, shape: [n], fill: "normal(0, 1)"}
  b: {type: f32, shape: [n], out: true}
  n: {size: n}
sizes: {check: [1, 7], timed: [1000]}
---
Scale a vector.

## reference

```cpp
void scale(float s, const float* a, float* b, int n) {
    for (int i = 0; i < n; i++) b[i] = s * a[i];
}
```

## expert

Vector code.

```cpp
void scale(float s, const float* __restrict a, float* __restrict b, int n) {
    for (int i = 0; i < n; i++) b[i] = s * a[i];
}
```
)md";

std::string Message(absl::string_view text) {
  const auto problem = ParsePrompt(text, "p.md");
  return problem.ok() ? "OK" : std::string(problem.status().message());
}

std::string Edited(absl::string_view from, absl::string_view to) {
  EXPECT_TRUE(absl::StrContains(kGood, from)) << from;
  return absl::StrReplaceAll(kGood, {{from, to}});
}

TEST(PromptFileTest, BoundsOfAFillMayBeMadeOfSizes) {
  const auto problem = ParsePrompt(Edited("\"normal(0, 1)\"", "uniform(0, min(n, 5) - 1)"), "p.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  const v1::Fill& fill = problem->args(1).array().fill();
  EXPECT_EQ(fill.parameters_size(), 0);
  ASSERT_EQ(fill.bounds_size(), 2);
  EXPECT_EQ(fill.bounds(0), "0");
  EXPECT_EQ(fill.bounds(1), "min(n, 5) - 1");
  EXPECT_THAT(Message(Edited("\"normal(0, 1)\"", "uniform(0, n-2)")),
              HasSubstr("the fill of 'a': the range (0, n-2) is empty: 0 > -1"));
  EXPECT_THAT(Message(Edited("\"normal(0, 1)\"", "uniform(0, m)")),
              HasSubstr("'m' is not a size variable"));
  EXPECT_THAT(Message(Edited("\"normal(0, 1)\"", "uniform(0, n+)")),
              HasSubstr("'n+' is neither a number nor made of sizes"));
  EXPECT_THAT(Message(Edited("\"normal(0, 1)\"", "normal(0, n-1)")),
              HasSubstr("mean and sd of normal(mean, sd) are numbers"));
  std::string bytes(kGood);
  bytes = absl::StrReplaceAll(bytes, {{"const float* a", "const unsigned char* a"},
                                      {"f32, shape: [n], fill: \"normal(0, 1)\"",
                                       "u8, shape: [n], fill: uniform(0, n-1)"}});
  EXPECT_THAT(Message(bytes), HasSubstr("999 is not a value of type u8"));
}

TEST(PromptFileTest, ReadsEverything) {
  const auto problem = ParsePrompt(kGood, "p.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->id(), "scale");
  ASSERT_EQ(problem->args_size(), 4);
  EXPECT_EQ(problem->args(0).scalar().type(), v1::F32);
  EXPECT_EQ(problem->args(0).scalar().fill().kind(), v1::Fill::UNIFORM);
  EXPECT_EQ(problem->args(0).scalar().fill().parameters(1), 2);
  EXPECT_EQ(problem->args(1).array().fill().kind(), v1::Fill::NORMAL);
  EXPECT_EQ(problem->args(1).array().shape(0), "n");
  EXPECT_EQ(problem->args(2).array().direction(), v1::Array::OUT);
  EXPECT_EQ(problem->args(3).size(), "n");
  ASSERT_EQ(problem->sizes().check_size(), 2);
  EXPECT_EQ(problem->sizes().check(1).values().at("n"), 7);
  EXPECT_EQ(problem->prose(), "Scale a vector.");
  EXPECT_TRUE(absl::StartsWith(problem->reference(), "void scale(float s"));
  EXPECT_TRUE(absl::EndsWith(problem->expert(), "}"));
}

TEST(PromptFileTest, NeedsNoExpert) {
  const std::string text(kGood);
  const auto problem = ParsePrompt(text.substr(0, text.find("## expert")), "p.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->expert(), "");
}

TEST(PromptFileTest, FillsInDefaults) {
  const auto problem = ParsePrompt(kGood, "p.md");
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(problem->compare().rule(), v1::Compare::SCALED);
  EXPECT_EQ(problem->compare().rtol(), 1e-5);
  EXPECT_EQ(problem->compile().std(), "c++20");
  EXPECT_EQ(problem->compile().flags(0), "-O3");
  EXPECT_EQ(problem->compile().allow_size(), 3);
  EXPECT_EQ(problem->compile().threads(), 1);
  EXPECT_EQ(problem->limits().compile_s(), 10);
  EXPECT_EQ(problem->limits().run_s(), 5);
  EXPECT_EQ(problem->limits().memory_mb(), 512);
  EXPECT_EQ(problem->limits().total_s(), 30);
}

TEST(PromptFileTest, ArgumentsComeInTheSignaturesOrder) {
  const std::string reordered = absl::StrReplaceAll(
      kGood, {{"  n: {size: n}\n", ""}, {"args:\n", "args:\n  n: {size: n}\n"}});
  const auto problem = ParsePrompt(reordered, "p.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(ProblemHash(*problem), ProblemHash(*ParsePrompt(kGood, "p.md")));
}

TEST(PromptFileTest, AcceptsWindowsLineEndsAndByteOrderMark) {
  const std::string windows =
      absl::StrCat("\xef\xbb\xbf", absl::StrReplaceAll(kGood, {{"\n", "\r\n"}}));
  const auto problem = ParsePrompt(windows, "p.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(ProblemHash(*problem), ProblemHash(*ParsePrompt(kGood, "p.md")));
}

TEST(PromptFileTest, SeveralSizeVariables) {
  const std::string text = absl::StrReplaceAll(kGood, {{"shape: [n]", "shape: [r, max(c, 2)]"},
                                                       {"{size: n}", "{size: r*max(c, 2)}"},
                                                       {"[1, 7]", "[{r: 1, c: 3}]"},
                                                       {"[1000]", "[{c: 9, r: 2}]"}});
  const auto problem = ParsePrompt(text, "p.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->args(1).array().shape(1), "max(c, 2)") << "a comma within parentheses";
  EXPECT_EQ(problem->sizes().timed(0).values().at("c"), 9);
  const auto said = [&](absl::string_view from, absl::string_view to) {
    return Message(absl::StrReplaceAll(text, {{from, to}}));
  };
  EXPECT_EQ(said("{c: 9, r: 2}", "7"),
            "p.md:9: 'sizes.timed[0]' must be a map, as in {r: 3, c: 5}");
  EXPECT_EQ(said("{c: 9, r: 2}", "{c: 9}"), "p.md:9: key 'sizes.timed[0].r' is missing");
  EXPECT_EQ(
      said("{c: 9, r: 2}", "{c: 9, r: 2, d: 3}"),
      "p.md:9: unknown key 'sizes.timed[0].d'; did you mean 'sizes.timed[0].r'? Keys here: r, "
      "c");
  EXPECT_EQ(said("{c: 9, r: 2}", "{c: 9, r: 0}"),
            "p.md:9: size r=0 in 'sizes.timed' must be at least 1");
}

TEST(PromptFileTest, QuotedNumbersAreNumbers) {
  const auto problem = ParsePrompt(
      absl::StrReplaceAll(
          kGood, {{"[1, 7]", "[\"1\", '7']"}, {"sizes:", "limits: {run_s: \"3\"}\nsizes:"}}),
      "p.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->sizes().check(1).values().at("n"), 7);
  EXPECT_EQ(problem->limits().run_s(), 3);
}

// Messages are compared whole: file, line, key, what to do.
TEST(PromptFileTest, SaysWhatIsWrongAndWhere) {
  const struct {
    const char* from;
    const char* to;
    const char* message;
  } kCases[] = {
      {"id: scale", "id: Scale",
       "p.md:2: id 'Scale' must be lower-case letters, digits and '_', begin with a letter and "
       "have at most 64 characters"},
      {"id: scale\n", "", "p.md:2: key 'id' is missing"},
      {"sizes:", "sises:",
       "p.md:9: unknown key 'sises'; did you mean 'sizes'? Keys here: id, types, signature, "
       "args, returns, sizes, compare, cost, compile, limits, split"},
      {"id: scale", "id: scale\nid: scale", "p.md:3: 'id' is given twice"},
      {"args:", "args: [", "p.md:4: a '{' or '[' opened here is never closed"},
      {"id: scale", "id: [scale]", "p.md:2: 'id' must be text, not a list"},
      {"signature: void scale(float s,", "signature: void scale(floot s,",
       "p.md:3: signature \"void scale(floot s, const float* a, float* b, int n)\", column 12: "
       "expected a type, found 'floot': a struct must be in 'types'"},
      {"  s: {", "  t: {", "p.md:5: 't' is no parameter of the signature; did you mean 's'?"},
      {"  n: {size: n}\n", "", "p.md:4: parameter 'n' of the signature has no entry in args"},
      {"{type: f32, fill: uniform(1, 2)}", "{type: f64, fill: uniform(1, 2)}",
       "p.md:5: 's' is f64, but the signature says float: write double there, or another type "
       "here"},
      {"{type: f32, fill: uniform(1, 2)}", "{type: f16, fill: uniform(1, 2)}",
       "p.md:5: 'args.s.type' must be one of f32, f64, bf16, i8, i16, i32, i64, u8, u16, u32, u64, "
       "not 'f16'; did you mean 'bf16'?"},
      {"uniform(1, 2)", "unifrom(1, 2)",
       "p.md:5: 'args.s.fill': unknown fill 'unifrom'; did you mean 'zero'? Fills are uniform(lo, "
       "hi), normal(mean, sd), zero, iota, permutation, sorted(lo, hi), one_of(a, b, …)"},
      {"uniform(1, 2)", "uniform(2, 1)", "p.md:5: 'args.s.fill': the range is empty: 2 > 1"},
      {"uniform(1, 2)", "uniform(1)",
       "p.md:5: 'args.s.fill': 'uniform(1)' has 1 parameters: write uniform(lo, hi)"},
      {"shape: [n], fill", "shpe: [n], fill",
       "p.md:6: unknown key 'args.a.shpe'; did you mean 'args.a.shape'? Keys here: size, type, "
       "shape, fill, out, inout"},
      {"shape: [n], fill", "shape: n, fill",
       "p.md:6: 'args.a.shape' must be a list, as in [a, b], not 'n'"},
      {"shape: [n], fill", "shape: [2*], fill",
       "p.md:6: 'args.a.shape': expression \"2*\", column 3: ends too early"},
      {"shape: [n], fill", "shape: [n / (n - n)], fill",
       "p.md:9: at size n=1 of 'sizes.check': 'a': expression \"n / (n - n)\": division by zero"},
      {"shape: [n], fill", "shape: [n * 4611686018427387904 % 9], fill",
       "p.md:9: at size n=7 of 'sizes.check': 'a': expression \"n * 4611686018427387904 % 9\": "
       "value beyond 64 bits"},
      {"shape: [n], fill", "shape: [n * 1000000000, n * 1000000000, 100], fill",
       "p.md:9: at size n=1 of 'sizes.check': 'a': the number of elements passes 64 bits"},
      {"shape: [n], fill", "shape: [m], fill",
       "p.md:9: plain integers need exactly one size variable, but the arguments use m, n: write "
       "every size as a map, as in {r: 3, c: 5}"},
      {", fill: \"normal(0, 1)\"", "",
       "p.md:6: 'a' is an input: give it a fill, as in fill: uniform(-1, 1), or write a generator "
       "section"},
      {", fill: \"normal(0, 1)\"", ", out: true",
       "p.md:6: 'a' is an output, but the signature has const float* a"},
      {", out: true", "",
       "p.md:7: 'b' is not const in the signature: say 'out: true' or 'inout: true', or make it "
       "const float*"},
      {", out: true", ", out: yes", "p.md:7: 'args.b.out' must be true or false, not 'yes'"},
      {"uniform(1, 2)", "{x: zero}",
       "p.md:5: 'args.s.fill' must be one fill, such as uniform(-1, 1), not a map: only a struct "
       "has fields"},
      {"uniform(1, 2)", "[zero]",
       "p.md:5: 'args.s.fill' must be a fill, such as uniform(-1, 1), not a list"},
      {"fill: uniform(1, 2)", "fill: uniform(1, 2), shape: [n]",
       "p.md:5: 'args.s.shape' has no meaning where the signature has no pointer; keys here: type, "
       "fill"},
      {"{size: n}", "{size: n, type: i32}",
       "p.md:8: 'args.n.type' has no meaning beside 'size'; keys here: size"},
      {", out: true", ", out: true, fill: zero",
       "p.md:7: 'b' is an output: it is poisoned, not filled (inout: true for an array changed in "
       "place)"},
      {"{size: n}", "{type: i32}", "p.md:8: key 'args.n.fill' is missing"},
      {"[1, 7]", "[1, 0]", "p.md:9: size n=0 in 'sizes.check' must be at least 1"},
      {"[1, 7]", "[1, x]",
       "p.md:9: 'sizes.check[1]' must be a whole number, or a map as in {r: 3, c: 5}, not 'x'"},
      {"[1, 7]", "[1, 1]", "p.md:9: size n=1 stands in 'sizes.check' twice"},
      {"[1, 7]", "[]", "p.md:9: 'sizes.check' needs at least one size"},
      {", timed: [1000]", "", "p.md:9: 'sizes.timed' needs at least one size"},
      {"[1000]", "[3000000000]",
       "p.md:9: at size n=3000000000 of 'sizes.timed': 'n' is 3000000000, beyond the signature's "
       "int"},
      {"[1000]", "[100000000]",
       "p.md:9: at size n=100000000 of 'sizes.timed': the arguments need 763 MiB, more than "
       "limits.memory_mb (512)"},
      {"shape: [n], out", "shape: [n - 1], out",
       "p.md:9: at size n=1 of 'sizes.check': 'b': extent n - 1 is 0, must be at least 1"},
      {"sizes: {", "returns: {type: f32}\nsizes: {",
       "p.md:9: the signature returns void: leave out 'returns'"},
      {"signature: void", "signature: float",
       "p.md:3: the signature returns float: add 'returns: {type: …}'"},
      {"sizes: {", "compare: {rule: close}\nsizes: {",
       "p.md:9: 'compare.rule' must be one of exact, scaled, elementwise, not 'close'; did you "
       "mean "
       "'exact'?"},
      {"sizes: {", "compare:\nsizes: {", "p.md:9: 'compare' must be a map of keys, not empty"},
      {"sizes: {", "compare: {rule: exact, rtol: 0.1}\nsizes: {",
       "p.md:9: 'compare.rtol' has no meaning with 'rule: exact'; keys here: rule"},
      {"sizes: {", "compare: {rule: scaled}\nsizes: {", "p.md:9: key 'compare.rtol' is missing"},
      {"sizes: {", "compare: {rule: scaled, rtol: 2}\nsizes: {",
       "p.md:9: 'compare.rtol' must be at least 0 and below 1, not 2"},
      {"sizes: {", "cost: {flops: 2*m}\nsizes: {",
       "p.md:9: 'cost.flops': 'm' is not a size variable; did you mean 'n'? Variables are n"},
      {"sizes: {", "compile: {flags: [-fplugin=x.so]}\nsizes: {",
       "p.md:9: flag '-fplugin=x.so' is not allowed: only -O…, -m…, -f…, -D… and -W… that tune "
       "the code are"},
      {"sizes: {", "compile: {headers: [<vector>]}\nsizes: {",
       "p.md:9: '<vector>' is not a header's name: write immintrin.h, not <immintrin.h>"},
      {"sizes: {", "compile: {compiler: g+}\nsizes: {",
       "p.md:9: 'compile.compiler' must be one of g++, clang++, not 'g+'; did you mean 'g++'?"},
      {"sizes: {", "compile: {allow: [pragmas]}\nsizes: {",
       "p.md:9: 'compile.allow[0]' must be one of target, pragma, static, asm, threads, not "
       "'pragmas'; did you mean 'pragma'?"},
      {"sizes: {", "compile: {threads: 2}\nsizes: {",
       "p.md:9: 2 threads, but 'threads' is not in compile.allow"},
      {"sizes: {", "limits: {run_s: 0}\nsizes: {",
       "p.md:9: 'limits.run_s' must be 0.001 to 3600, not 0"},
      {"sizes: {", "limits: {run_s: 60}\nsizes: {",
       "p.md:9: 'limits.run_s' (60) is above 'limits.total_s' (30), which bounds the whole "
       "verdict"},
      {"sizes: {", "split: evaluation\nsizes: {",
       "p.md:9: 'split' must be one of train, valid, test, not 'evaluation'; did you mean "
       "'valid'?"},
      {"---\nid", "id", "p.md:1: a prompt file begins with '---' and YAML front matter"},
      {"[1000]}\n---", "[1000]}", "p.md:1: the front matter is never closed by '---'"},
      {"Scale a vector.", "",
       "p.md:11: there is no prose: say below the front matter what to compute"},
      {"## reference", "## refernce",
       "p.md:13: unknown section 'refernce'; did you mean 'reference'? Sections are reference, "
       "expert, oracle, generator, checker"},
      {"## expert", "## reference",
       "p.md:21: section 'reference' stands here a second time (first on line 13)"},
      {"## reference", "Reference:", "p.md:30: section '## reference' is missing"},
      {"\nVector code.\n", "\n```\nx\n```\n",
       "p.md:27: section 'expert' has a second fenced block: join them into one"},
      {"\nVector code.\n\n```cpp", "\nVector code.\n\n```cpp\n```\n\n## oracle\n\n```cpp",
       "p.md:21: section 'expert' has an empty block"},
      {"void scale(float s, const float* __restrict a", "void skale(float s, const float* a",
       "p.md:21: section 'expert' must define the function 'scale'"},
      {"Vector code.", "Vector \x01 code.", "p.md:23: control character 1 at column 8: remove it"},
      {"Vector code.", "Vector \xff code.", "p.md:23: not valid UTF-8: save the file as UTF-8"},
  };
  for (const auto& c : kCases) EXPECT_EQ(Message(Edited(c.from, c.to)), c.message) << c.to;
}

constexpr char kStructs[] = R"md(---
id: drift
types:
  Body: {x: f32, y: f32, id: i32}
  Step: {dx: f32, dy: f32}
signature: Step drift(const Body* from, Body* to, Step step, int n)
args:
  from: {type: Body, shape: [n], fill: {x: uniform(-1, 1), y: "normal(0, 1)", id: iota}}
  to: {type: Body, shape: [n], out: true}
  step: {type: Step, fill: uniform(0, 1)}
  n: {size: n}
returns: {type: Step}
sizes: {check: [1, 7], timed: [1000]}
---
Moves bodies.

## reference

```cpp
struct Body {
    float x, y;
    std::int32_t id;
};

Step drift(const Body* from, Body* to, Step step, int n) {
    for (int i = 0; i < n; i++) to[i] = {from[i].x + step.dx, from[i].y + step.dy, from[i].id};
    return step;
}
```

## expert

```cpp
Step drift(const Body* from, Body* to, Step step, int n) {
    for (int i = 0; i < n; i++) to[i] = {from[i].x + step.dx, from[i].y + step.dy, from[i].id};
    return step;
}
```
)md";

TEST(PromptFileTest, ReadsStructs) {
  const auto problem = ParsePrompt(kStructs, "p.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  ASSERT_EQ(problem->structs_size(), 2);
  EXPECT_EQ(problem->structs(0).name(), "Body");
  EXPECT_EQ(problem->structs(0).fields(2).name(), "id");
  EXPECT_EQ(problem->structs(0).fields(2).type(), v1::I32);
  EXPECT_EQ(problem->args(0).array().struct_type(), "Body");
  EXPECT_FALSE(problem->args(0).array().has_fill());
  ASSERT_EQ(problem->args(0).array().field_fills_size(), 3);
  EXPECT_EQ(problem->args(0).array().field_fills(1).kind(), v1::Fill::NORMAL);
  EXPECT_EQ(problem->args(1).array().field_fills_size(), 0);
  ASSERT_EQ(problem->args(2).scalar().field_fills_size(), 2) << "one for all fields";
  EXPECT_EQ(problem->args(2).scalar().field_fills(1).parameters(1), 1);
  EXPECT_EQ(problem->returns().struct_type(), "Step");
  EXPECT_EQ(problem->compare().rule(), v1::Compare::SCALED) << "a field is a float";
  // The model sees each definition once, whether or not a section repeats it.
  const std::string shown = RenderMessages(*problem)[0].content();
  EXPECT_TRUE(absl::StrContains(shown,
                                "```cpp\nstruct Body {\n    float x, y;\n    int id;\n};\nstruct "
                                "Step {\n    float dx, dy;\n};\n\nStep drift(const Body* from"))
      << shown;
}

TEST(PromptFileTest, ReadsStructsWithArrays) {
  const std::string text = absl::StrReplaceAll(
      kStructs, {{"id: i32}\n", "id: i32, m: f64[2][3], name: char[4]}\n"},
                 {"id: iota}}", "id: iota, m: \"normal(0, 2)\", name: uniform(97, 99)}}"},
                 {"{dx: f32, dy: f32}", "{dx: f32, dy: f32[1]}"},
                 {"step.dy, ", "step.dy[0], "},
                 {"    float dx, dy;\n", "    float dx, dy[1];\n"},
                 {"std::int32_t id;", "std::int32_t id; double m[2][3]; char name[4];"}});
  const auto problem = ParsePrompt(text, "p.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->structs(0).fields(3).extents_size(), 2);
  EXPECT_TRUE(problem->structs(0).fields(4).is_char());
  const auto& fills = problem->args(0).array().field_fills();
  ASSERT_EQ(fills.size(), 3 + 6 + 4) << "one for each number";
  EXPECT_EQ(fills[2].kind(), v1::Fill::IOTA);
  for (int i = 3; i < 9; ++i) EXPECT_EQ(fills[i].kind(), v1::Fill::NORMAL) << i;
  EXPECT_EQ(fills[9].parameters(0), 97);
  EXPECT_EQ(fills[12].parameters(0), 97);
  EXPECT_TRUE(absl::StrContains(RenderMessages(*problem)[0].content(),
                                "    double m[2][3];\n    char name[4];\n};\n"));
  EXPECT_EQ(Message(absl::StrReplaceAll(text, {{", m: \"normal(0, 2)\"", ""}})),
            "p.md:8: key 'args.from.fill.m' is missing");
}

TEST(PromptFileTest, SaysWhatIsWrongWithStructs) {
  const struct {
    const char* from;
    const char* to;
    const char* message;
  } kCases[] = {
      {"x: f32, y: f32, id: i32}\n", "x: f32, x: f32}\n", "p.md:4: 'types.Body.x' is given twice"},
      {"  Step: {", "  Body: {", "p.md:5: 'types.Body' is given twice"},
      {"id: i32}\n", "id: int}\n",
       "p.md:4: field 'id' of Body: unknown type 'int'; did you mean 'i32'? Valid: f32, f64, bf16, "
       "i8, i16, i32, i64, u8, u16, u32, u64"},
      {"id: i32}\n", "id: Step}\n",
       "p.md:4: field 'id' of Body is a Step: a struct in a struct is not supported, so list the "
       "fields of Step in Body"},
      {"id: i32}\n", "id: [i32, 4]}\n",
       "p.md:4: 'types.Body.id' must be the type of a number, such as f32, or of an array of "
       "numbers, such as f32[4], not a list"},
      {"id: i32}\n", "id: f64[0]}\n",
       "p.md:4: field 'id' of Body: '[0]' is no extent: write a whole number from 1 on, as in "
       "f64[9] or f64[3][3]"},
      {"id: i32}\n", "id: f64[3][-1]}\n",
       "p.md:4: field 'id' of Body: '[-1]' is no extent: write a whole number from 1 on, as in "
       "f64[9] or f64[3][3]"},
      {"id: i32}\n", "id: f64[x]}\n",
       "p.md:4: field 'id' of Body: '[x]' is no extent: write a whole number from 1 on, as in "
       "f64[9] or f64[3][3]"},
      {"id: i32}\n", "id: f64[3}\n", "p.md:4: a '{' or '[' opened here is never closed"},
      {"id: i32}\n", "id: f64[3]x}\n",
       "p.md:4: field 'id' of Body: 'x' is no extent: write a whole number from 1 on, as in "
       "f64[9] or f64[3][3]"},
      {"id: i32}\n", "id: int[3]}\n",
       "p.md:4: field 'id' of Body: unknown type 'int'; did you mean 'i32'? Valid: f32, f64, bf16, "
       "i8, i16, i32, i64, u8, u16, u32, u64"},
      {"id: i32}\n", "id: f64[64][64]}\n",
       "p.md:4: struct Body has more than 4096 bytes: pass its larger arrays as arguments"},
      {"id: i32}\n", "int: i32}\n", "p.md:4: 'int' cannot name a field of Body"},
      {"{dx: f32, dy: f32}", "{}",
       "p.md:5: struct Step has 0 fields: give it 1 to 32, as in {x: f32, y: f32}"},
      {"  Step: {", "  Stop: {dx: f32}\n  Step: {",
       "p.md:5: the signature does not use struct Stop: leave it out (what only the code uses, the "
       "code defines)"},
      {"  Body: {", "  f32: {",
       "p.md:4: 'f32' cannot name a struct: take another name, as in Point"},
      {"  Body: {", "  candidate: {",
       "p.md:4: 'candidate' cannot name a struct: take another name, as in Point"},
      {"  Body: {", "  n: {}\n  Body: {",
       "p.md:4: struct n has 0 fields: give it 1 to 32, as in {x: f32, y: f32}"},
      {"const Body* from", "const Bodies* from",
       "p.md:6: signature \"Step drift(const Bodies* from, Body* to, Step step, int n)\", column "
       "12: "
       "expected a type, found 'Bodies': a struct must be in 'types'"},
      {"{type: Body, shape: [n], out", "{type: Step, shape: [n], out",
       "p.md:9: 'to' is Step, but the signature says Body: write Step there, or another type here"},
      {"{type: Body, shape: [n], out", "{type: body, shape: [n], out",
       "p.md:9: 'args.to.type' must be one of f32, f64, bf16, i8, i16, i32, i64, u8, u16, u32, "
       "u64, "
       "Body, Step, not 'body'; did you mean 'Body'?"},
      {", id: iota}}", "}}", "p.md:8: key 'args.from.fill.id' is missing"},
      {", id: iota}}", ", id: iota, z: zero}}",
       "p.md:8: unknown key 'args.from.fill.z'; did you mean 'args.from.fill.x'? Keys here: x, y, "
       "id"},
      {"id: iota}}", "id: uniform(0.5, 1)}}",
       "p.md:8: 'args.from.fill.id': 0.5 is not a value of type i32"},
      {"{x: uniform(-1, 1), y: \"normal(0, 1)\", id: iota}", "\"normal(0, 1)\"",
       "p.md:8: 'args.from.fill' for field 'id': normal needs a floating type, not i32; or give "
       "each "
       "field its own, as in {x: uniform(-1, 1), id: iota}"},
      {"id: i32}\n", "id: i16}\n",
       "p.md:17: section 'reference' defines another Body than 'types': leave its definition out, "
       "or make both alike"},
      {"returns: {type: Step}", "returns: {type: f32}",
       "p.md:12: returns f32, but the signature says Step: write float there, or another type "
       "here"},
  };
  for (const auto& c : kCases) {
    EXPECT_TRUE(absl::StrContains(kStructs, c.from)) << c.from;
    EXPECT_EQ(Message(absl::StrReplaceAll(kStructs, {{c.from, c.to}})), c.message) << c.to;
  }
}

TEST(PromptFileTest, CountingFillsMustFitTheField) {
  const std::string text =
      absl::StrReplaceAll(kStructs, {{"id: i32}\n", "id: i8}\n"}, {"std::int32_t", "signed char"}});
  EXPECT_EQ(Message(text),
            "p.md:13: at size n=1000 of 'sizes.timed': 'from.id' would count to 999, more than i8 "
            "holds");
}

TEST(PromptFileTest, AnUnclosedFenceNamesItsFirstLine) {
  std::string text = kGood;
  text.resize(text.size() - 4);  // the last ``` goes
  EXPECT_EQ(Message(text), "p.md:25: this fenced block is never closed");
}

TEST(PromptFileTest, AGeneratorReplacesFillsAndACheckerReplacesCompare) {
  std::string text = Edited(", fill: \"normal(0, 1)\"", "");
  absl::StrAppend(&text,
                  "\n## generator\n\n```cpp\nvoid generate(float s, float* a, float* b, int ",
                  "n, unsigned long long seed) {}\n```\n");
  EXPECT_EQ(Message(text), "OK");
  absl::StrAppend(&text,
                  "\n## checker\n\n```cpp\nbool check(float s, const float* a, const float* ",
                  "b, int n) { return true; }\n```\n");
  EXPECT_EQ(Message(text), "OK");
  EXPECT_EQ(Message(absl::StrReplaceAll(text, {{"sizes:", "compare: {rule: exact}\nsizes:"}})),
            "p.md:9: the checker section decides: leave out 'compare'");
}

TEST(PromptFileTest, HeadingsInsideFencesAreText) {
  const std::string text = Edited("Scale a vector.", "Scale.\n\n```\n## reference\n```");
  const auto problem = ParsePrompt(text, "p.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->prose(), "Scale.\n\n```\n## reference\n```");
}

TEST(PromptFileTest, HugeAndHostileInputIsRefused) {
  const std::string huge(kPromptBytesMax + 1, 'x');
  EXPECT_EQ(Message(huge),
            "p.md:1: the file has 1048577 bytes, more than 1048576: not a prompt file");
  EXPECT_EQ(Message(std::string(30000, '\n')),
            "p.md:20001: more than 20000 lines: not a prompt "
            "file");
  for (const char* nest : {"[", "{a: ", "- ", "{? "}) {
    std::string deep = "---\nid: ";
    for (int i = 0; i < 10000; ++i) deep += nest;
    EXPECT_TRUE(absl::StartsWith(Message(deep + "\n---\n"), "p.md:2: ")) << nest;
  }
  const std::string anchors = "---\nid: &a [x, x]\nargs: &b [*a, *a]\nsizes: [*b, *b]\n---\n";
  EXPECT_EQ(Message(anchors), "p.md:2: 'id' must be text, not a list");
}

// Every single-byte change either parses or is refused with its line; none makes it crash.
TEST(PromptFileTest, SurvivesEveryMutation) {
  Philox rng(1, {0, 0, 0, 0});
  const std::string alphabet = "{}[]:,-#'\"&*!|>%@`()\n\t \x80\xff?0a";
  for (size_t at = 0; at < sizeof(kGood) - 1; ++at) {
    std::string text = kGood;
    text[at] = alphabet[rng.Below(alphabet.size())];
    const std::string message = Message(text);
    EXPECT_TRUE(message == "OK" || absl::StartsWith(message, "p.md:")) << message;
  }
}

TEST(PromptFileTest, EveryProblemOfTheRepositoryParses) {
  std::map<std::string, int> problems;
  for (const std::string folder : {"", "valid", "test"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(SourceDir() + "/prompts/" + folder)) {
      if (entry.path().extension() != ".md" || entry.path().filename() == "README.md") continue;
      const auto problem = ParsePromptFile(entry.path());
      ASSERT_TRUE(problem.ok()) << problem.status();
      EXPECT_EQ(problem->id(), entry.path().stem()) << "a file is named after its problem";
      EXPECT_EQ(SplitName(*problem), folder.empty() ? "train" : folder) << entry.path();
      ++problems[folder];
    }
  }
  EXPECT_GE(problems[""], 24);
  EXPECT_GE(problems["valid"], 12);
  EXPECT_GE(problems["test"], 12);
}

TEST(PromptFileTest, TheExampleThatTeachesTheFormatParses) {
  const auto readme = ReadFile(SourceDir() + "/prompts/README.md");
  ASSERT_TRUE(readme.ok());
  const std::string fence = "````markdown\n";
  const size_t begin = readme->find(fence) + fence.size();
  const size_t end = readme->find("````\n", begin);
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(Message(readme->substr(begin, end - begin)), "OK");
}

TEST(PromptFileTest, AMissingFileIsNamed) {
  const auto problem = ParsePromptFile("/nonexistent/p.md");
  EXPECT_EQ(problem.status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(problem.status().message(), "/nonexistent/p.md"));
}

}  // namespace
}  // namespace whetstone
