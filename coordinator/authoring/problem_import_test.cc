#include "coordinator/authoring/problem_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "coordinator/prompt/cpp_source.h"
#include "coordinator/prompt/prompt_file.h"

namespace whetstone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kCode[] = R"code(// void decoy(int n) { }
#include <algorithm>
#include <math.h>
#include <cstdint>
#define LONG(x) \
  { x }

static const char* text = "void quoted(int n) {";
struct Pair { float a, b; };
static float helper(float v) { return v < 0 ? '{' : v; }

float row_sums(const float* __restrict a,
               float* out, float scale, int rows, int cols)
{
    float last = 0;
    for (int i = 0; i < rows; i++) {
        out[i] = 0;
        for (int j = 0; j < cols; j++) out[i] += scale * helper(a[i * cols + j]);
        last = out[i];
    }
    return last;
}
)code";

// Answers from a table, else with the suggestion; what has none is an error. It remembers what it
// was asked.
struct Answers {
  std::map<std::string, std::string> given;
  std::vector<std::string> asked;

  absl::StatusOr<ImportedProblem> Import(ImportRequest request) {
    request.answer = [this](const ImportQuestion& question) -> absl::StatusOr<std::string> {
      asked.push_back(question.key);
      const auto it = given.find(question.key);
      const std::string answer = it == given.end() ? question.suggestion : it->second;
      if (absl::Status status = question.check(answer); !status.ok()) return status;
      return answer;
    };
    return ImportProblem(request);
  }
};

TEST(CppSourceTest, FindsWhatOthersCanCall) {
  const auto source = ReadCppSource(kCode, "f.cc");
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_EQ(source->functions.size(), 1u);
  EXPECT_EQ(source->functions[0].signature,
            "float row_sums(const float* a, float* out, float scale, int rows, int cols)");
  EXPECT_EQ(source->functions[0].line, 12);
  EXPECT_THAT(source->headers, ElementsAre("algorithm", "math.h"));
}

TEST(ProblemImportTest, AsksOnlyWhatTheSignatureDoesNotSay) {
  Answers answers;
  answers.given = {{"prose", "Sums of rows."},
                   {"a.shape", "rows, cols"},
                   {"out.shape", "rows"},
                   {"scale.fill", "uniform(1, 2)"},
                   {"timed", "rows=256 cols=200, rows=100 cols=501"}};
  const auto made = answers.Import({.code = kCode, .name = "f.cc"});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->id, "row_sums");
  EXPECT_THAT(answers.asked,
              ElementsAre("id", "prose", "scale.fill", "rows.kind", "cols.kind", "a.shape",
                          "a.fill", "out.kind", "out.shape", "check", "timed", "hidden", "rtol"));
  const auto problem = ParsePrompt(made->text, "row_sums.md");
  ASSERT_TRUE(problem.ok()) << problem.status() << made->text;
  EXPECT_EQ(problem->args(0).array().shape(1), "cols");
  EXPECT_EQ(problem->args(1).array().direction(), v1::Array::OUT);
  EXPECT_EQ(problem->args(2).scalar().fill().parameters(0), 1);
  EXPECT_EQ(problem->returns().type(), v1::F32);
  EXPECT_EQ(problem->sizes().timed(1).values().at("cols"), 501);
  EXPECT_EQ(problem->sizes().check_size(), 5);
  EXPECT_EQ(problem->compile().headers(1), "math.h");
  EXPECT_TRUE(absl::StrContains(problem->reference(), "static float helper"));
  EXPECT_EQ(problem->expert(), "") << "none was given";
  EXPECT_EQ(problem->compare().rtol(), 1e-4);
}

TEST(ProblemImportTest, InPlaceValuesAndAnExpert) {
  Answers answers;
  answers.given = {{"prose", "Adds."},   {"timed", "10000"},           {"data.kind", "inout"},
                   {"by.kind", "value"}, {"by.fill", "uniform(1, 9)"}, {"hidden", "777"}};
  const auto made = answers.Import(
      {.code = "int add(long* data, int n, int by) { return data[n - 1] += by; }\n",
       .name = "f.cc",
       .expert = "int add(long* data, int n, int by) { /* fast */ return data[n - 1] += by; }\n"});
  ASSERT_TRUE(made.ok()) << made.status();
  const auto problem = ParsePrompt(made->text, "add.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->args(0).array().direction(), v1::Array::INOUT);
  EXPECT_EQ(problem->args(0).array().type(), v1::I64);
  EXPECT_EQ(problem->args(0).array().shape(0), "n");
  EXPECT_THAT(made->text, HasSubstr("fill: uniform(-9223372036854775808, 9223372036854775807)"));
  EXPECT_TRUE(problem->args(2).has_scalar());
  EXPECT_EQ(problem->compare().rule(), v1::Compare::EXACT);
  EXPECT_EQ(problem->sizes().hidden_size(), 1);
  EXPECT_TRUE(absl::StrContains(problem->expert(), "fast"));
}

TEST(ProblemImportTest, StructsBecomeTypes) {
  Answers answers;
  answers.given = {{"prose", "Moves."},        {"timed", "10000"},
                   {"bodies.shape", "n"},      {"bodies.kind", "inout"},
                   {"bodies.id.fill", "iota"}, {"shift.x.fill", "uniform(1, 2)"}};
  const auto made = answers.Import(
      {.code = "struct Unused { int a; };\n"
               "struct Body {\n    float x, y;  // where\n    std::int32_t id;\n};\n"
               "struct Shift { float x; };\n"
               "Shift move(Body* bodies, Shift shift, int n) {\n"
               "    for (int i = 0; i < n; i++) bodies[i].x += shift.x;\n    return shift;\n}\n",
       .name = "f.cc"});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(answers.asked, ElementsAre("id", "prose", "shift.x.fill", "n.kind", "bodies.kind",
                                         "bodies.shape", "bodies.x.fill", "bodies.y.fill",
                                         "bodies.id.fill", "check", "timed", "hidden", "rtol"));
  EXPECT_THAT(made->text, HasSubstr("types:\n  Body: {x: f32, y: f32, id: i32}\n"
                                    "  Shift: {x: f32}\nsignature: Shift move(Body* bodies,"));
  EXPECT_THAT(made->text, HasSubstr("fill: {x: uniform(-1, 1), y: uniform(-1, 1), id: iota}"));
  EXPECT_THAT(made->text, HasSubstr("```cpp\nstruct Unused { int a; };\nShift move("));
  const auto problem = ParsePrompt(made->text, "move.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->structs_size(), 2);
  EXPECT_EQ(problem->args(0).array().field_fills(2).kind(), v1::Fill::IOTA);
  EXPECT_EQ(problem->returns().struct_type(), "Shift");
}

TEST(ProblemImportTest, ArraysInStructsAreAskedForOnce) {
  Answers answers;
  answers.given = {{"prose", "Applies."},  {"timed", "1000"}, {"ops.shape", "n"},
                   {"ops.t.fill", "iota"}, {"to.shape", "n"}, {"names.shape", "n"},
                   {"names.kind", "in"},   {"to.kind", "out"}};
  const auto made = answers.Import(
      {.code = "constexpr int kPrefix = 16;\n"
               "struct SymOp { double r[9]; double t[3]; };\n"
               "struct Name { char prefix[kPrefix]; float m[3][3], w; };\n"
               "void apply(const SymOp* ops, const Name* names, double* to, int n) {\n"
               "    for (int i = 0; i < n; i++) {\n"
               "        const char* p = names[i].prefix;\n"
               "        to[i] = ops[i].r[8] + ops[i].t[2] + p[kPrefix - 1];\n    }\n}\n",
       .name = "f.cc"});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(answers.asked,
              ElementsAre("id", "prose", "n.kind", "ops.shape", "ops.r.fill", "ops.t.fill",
                          "names.shape", "names.prefix.fill", "names.m.fill", "names.w.fill",
                          "to.kind", "to.shape", "check", "timed", "hidden", "rtol"));
  EXPECT_THAT(made->text, HasSubstr("types:\n  SymOp: {r: f64[9], t: f64[3]}\n"
                                    "  Name: {prefix: char[16], m: f32[3][3], w: f32}\n"));
  EXPECT_THAT(made->text, HasSubstr("fill: {r: uniform(-1, 1), t: iota}"));
  EXPECT_THAT(made->text, HasSubstr("{prefix: uniform(-128, 127), m: uniform(-1, 1), w: "));
  const auto problem = ParsePrompt(made->text, "apply.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->args(0).array().field_fills_size(), 12);
  EXPECT_EQ(problem->args(0).array().field_fills(9).kind(), v1::Fill::IOTA);
  EXPECT_EQ(problem->args(1).array().field_fills_size(), 16 + 9 + 1);
}

TEST(ProblemImportTest, FillsAreSuggestedThatCanBe) {
  const auto imported = [](std::map<std::string, std::string> given) {
    Answers answers;
    answers.given = std::move(given);
    answers.given.insert({{"prose", "Sums."},
                          {"timed", "n=64 m=8"},
                          {"begins.shape", "n+1"},
                          {"x.shape", "32*n"},
                          {"sums.shape", "n"}});
    const auto look = [](const std::vector<std::string>&, const ImportedFunction&,
                         const InputGenerator*) {
      ImportHints hints;
      hints.fills = {
          {"begins", "sorted(0, 32*(n))"}, {"k", "uniform(0.5, 1.5)"}, {"x", "whatever"}};
      return hints;
    };
    return answers.Import(
        {.code =
             "void sums(const int* begins, const float* x, float* sums, int n, int m, float k) {\n"
             "  for (int r = 0; r < n; r++) sums[r] = x[begins[r]] + x[begins[r + 1] - 1] / k;\n}",
         .name = "sums.cc",
         .look = look});
  };
  const auto all = imported({});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(all->text, HasSubstr("begins: {type: i32, shape: [n+1], fill: sorted(0, 32*(n))}"));
  EXPECT_THAT(all->text, HasSubstr("k: {type: f32, fill: uniform(0.5, 1.5)}"));
  EXPECT_THAT(all->text, HasSubstr("x: {type: f32, shape: [32*n], fill: uniform(-1, 1)}"));
  const auto said = imported({{"begins.fill", "uniform(0, n-1)"}});
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_THAT(said->text, HasSubstr("begins: {type: i32, shape: [n+1], fill: uniform(0, n-1)}"));
  // What the hint is made of is no size.
  const auto no_size = imported({{"n.kind", "value"},
                                 {"n.fill", "uniform(1, 8)"},
                                 {"begins.shape", "m"},
                                 {"x.shape", "m"},
                                 {"sums.shape", "m"}});
  EXPECT_FALSE(no_size.ok() && absl::StrContains(no_size->text, "sorted")) << no_size->text;
}

TEST(ProblemImportTest, SaysWhyAFileIsNoProblem) {
  const struct {
    const char* code;
    const char* message;
  } kCases[] = {
      {"", "f.cc:1: there is no function at global scope that is not static"},
      {"static int f(int n) { return n; }\n",
       "f.cc:1: there is no function at global scope that is not static"},
      {"namespace a {\nint f(int n) { return n; }\n}\n",
       "f.cc:1: there is no function at global scope that is not static"},
      {"int f(int n) { return n; }\nint g(int n) { return n; }\n",
       "f.cc has several functions: choose one with --function (f, g) and make the others static"},
      {"\nint f(std::vector<int> v) { return v[0]; }\n",
       "f.cc:2: 'int f(std::vector<int> v)', column 18: unexpected '<': parameters are numbers, "
       "structs or single pointers to them. A problem is one function of numbers, structs of "
       "numbers, containers of these and pointers to them, which nothing else in the file calls; "
       "wrap yours in one, or choose one with --function"},
      {"struct M {\n  float* a;\n};\nvoid f(const M* m, float* out, int n) { out[n - 1] = "
       "m->a[0]; }\n",
       "f.cc:1: struct M has a member that is neither a number nor an array of numbers of constant "
       "extents, the only ones that a problem's structs hold: pass the rest as arguments of its "
       "own"},
      {"struct M {\n  float a[1025];\n};\nvoid f(const M* m, float* out, int n) { out[n - 1] = "
       "m->a[0]; }\n",
       "f.cc:1: struct M has more than 4096 bytes: pass its larger arrays as arguments"},
      {"#include \"mine.h\"\nint f(int n) { return n; }\n",
       "f.cc:1: a candidate has no \"mine.h\": put what the function needs into this file"},
      {"int f(int n) { return n; }\nint main() { return f(1); }\n",
       "f.cc:2: leave the main function out: a problem is one function"},
      {"int f(int n) { return n;\n", "f.cc:2: a '{' is never closed"},
      {"int f(int n) { return n; } }\n", "f.cc:1: this '}' closes nothing"},
      {"float f(const float* a, float s) { return s * a[0]; }\n",
       "f.cc:1: no parameter carries a size: nothing to measure by size"},
      {"int f(int n) { return n; }\n", "'' must give each of n once"},
  };
  for (const auto& c : kCases) {
    Answers answers;
    answers.given = {{"prose", "What it does."}, {"a.shape", "1"}};
    const auto made = answers.Import({.code = c.code, .name = "f.cc"});
    EXPECT_THAT(std::string(made.status().message()), HasSubstr(c.message)) << c.code;
  }
}

TEST(ProblemImportTest, RefusesAnswersThatWillNotDo) {
  const std::map<std::string, std::string> kGood = {{"prose", "Sums."},
                                                    {"a.shape", "rows, cols"},
                                                    {"out.shape", "rows"},
                                                    {"timed", "rows=9 cols=9"}};
  const struct {
    const char* key;
    const char* answer;
    const char* message;
  } kCases[] = {
      {"id", "Row-Sums", "'Row-Sums' cannot name a problem"},
      {"prose", " ", "it is empty"},
      {"rows.kind", "seize", "'seize' is neither 'size' nor 'value'"},
      {"a.shape", "rows,", "ends too early"},
      {"a.shape", "rows, colz", "these answers make no problem: row_sums.md:5: 'args.a.shape'"},
      {"a.fill", "random", "unknown fill 'random'"},
      {"timed", "rows=9", "'rows=9' must give each of rows, cols once"},
      {"timed", "rows=9 cols=x", "'cols=x' does not give one of rows, cols a whole number"},
      {"rtol", "2", "'2' is no number from 0 to 1"},
  };
  for (const auto& c : kCases) {
    Answers answers;
    answers.given = kGood;
    answers.given[c.key] = c.answer;
    const auto made = answers.Import({.code = kCode, .name = "f.cc"});
    EXPECT_THAT(std::string(made.status().message()), HasSubstr(c.message)) << c.answer;
  }
}

}  // namespace
}  // namespace whetstone
