// `whet problem` refuses unsound problems with line, reason and remedy, finds that the project's
// own pay what they should, and makes a function a problem.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

// It is small, so that every check takes two or three seconds; its expert is below 2x, so that the
// check does not measure again until the reward is right.
constexpr char kGood[] = R"md(---
id: rows
signature: void rows(const float* a, const float* b, float* c, int n)
args:
  a: {type: f32, shape: [n, n], fill: uniform(-1, 1)}
  b: {type: f32, shape: [n], fill: uniform(1, 2)}
  c: {type: f32, shape: [n], out: true}
  n: {size: n}
sizes: {check: [1, 2, 17], timed: [160]}
compare: {rule: elementwise, rtol: 1.0e-4, atol: 1.0e-4}
---
Sums of rows, each times its factor.

## reference

```cpp
void rows(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; ++i) {
    float s = 0;
    for (int j = 0; j < n; ++j) s += a[i * n + j];
    c[i] = b[i] * s;
  }
}
```

## expert

```cpp
void rows(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; ++i) {
    float s[4] = {};
    int j = 0;
    for (; j + 4 <= n; j += 4)
      for (int q = 0; q < 4; ++q) s[q] += a[i * n + j + q];
    for (; j < n; ++j) s[0] += a[i * n + j];
    float t = s[0] + s[1] + s[2] + s[3];
    c[i] = b[i] * t;
  }
}
```
)md";

class ProblemTest : public WhetTest {
 protected:
  std::string Write(const std::string& name, const std::string& from, const std::string& to) {
    const std::string text = absl::StrReplaceAll(kGood, {{from, to}});
    EXPECT_NE(text, kGood) << from;
    EXPECT_TRUE(WriteFileAtomically(Path(name), text).ok());
    return Path(name);
  }
};

TEST_F(ProblemTest, EveryKindOfUnsoundProblemIsNamedWithItsRemedy) {
  const struct {
    const char* name;
    const char* from;
    const char* to;
    const char* location;
    const char* reason;
    const char* remedy;
  } kCases[] = {
      {"type.md", "a: {type: f32", "a: {type: f31",
       "type.md:5: ", "must be one of f32, .*, not 'f31'", "did you mean 'f32'?"},
      {"shape.md", "shape: [n], out", "shape: [n / (n - 1)], out",
       "shape.md:9: ", "at size n=1 of 'sizes.check': 'c': .*division by zero", ""},
      {"overflow.md", "timed: [160]", "timed: [2000000000]", "overflow.md:9: ",
       "at size n=2000000000 of 'sizes.timed': the arguments need", "more than limits.memory_mb"},
      {"uncompilable.md", "    c[i] = b[i] * s;", "    c[i] = b[i] * sum;",
       "uncompilable.md:14: ", "the problem's reference does not compile", "correct the block"},
      {"slow.md", "j + 4 <= n", "j + 4 <= 0", "slow.md:26: ", "it must be at least 1.2x",
       "write a faster one"},
      {"wrong.md", "c[i] = b[i] * t;", "c[i] = b[i] * t + (i == 16);",
       "wrong.md:26: ", "the expert is not CORRECT but WRONG_ANSWER", "correct the expert"},
      {"random.md", "c[i] = b[i] * s;",
       "unsigned r; __builtin_ia32_rdrand32_step(&r); c[i] = b[i] * s + r % 8;",
       "random.md:14: ", "the reference, run against itself, is wrong", "without state of its own"},
      {"ignores.md", "= b[i] *", "= ", "ignores.md:6: ",
       "canary: ignores b: the reference is right although it reads zeros for 'b'",
       "use 'b' in the reference"},
      {"constant.md", "uniform(-1, 1)}\n  b: {type: f32, shape: [n], fill: uniform(1, 2)}",
       "iota}\n  b: {type: f32, shape: [n], fill: iota}", "constant.md:4: ",
       "canary: stale output: an answer kept from an earlier call passes for right",
       "fill the inputs with values that change the answer"},
      {"tolerant.md", "fill: uniform(-1, 1)", "fill: uniform(-0.0000001, 0.0000001)",
       "tolerant.md:10: ", "canary: zeros: passes for right without doing the work",
       "lower the tolerances of 'compare'"},
  };
  std::vector<std::string> words = {"problem", "check"};
  for (const auto& c : kCases) words.push_back(Write(c.name, c.from, c.to));
  // Other work on the machine can leave a speed unproven, not three times.
  WhetResult result;
  for (int attempt = 0; attempt < 3; ++attempt) {
    result = Whet(words);
    if (absl::StrContains(result.out, "10 problems: 0 sound, 10 not sound")) break;
  }
  EXPECT_THAT(result.out, HasSubstr("10 problems: 0 sound, 10 not sound"));
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  for (const auto& c : kCases) {
    // One line of the answer has all three.
    EXPECT_THAT(result.out, testing::ContainsRegex(absl::StrReplaceAll(
                                absl::StrCat(c.location, "[^\n]*", c.reason, ".*", c.remedy),
                                {{"?", "[?]"}, {"'", "."}})))
        << c.name;
  }

  // Without a stopwatch all are refused but the one that is only slow.
  words.push_back("--quick");
  const WhetResult quick = Whet(words);
  EXPECT_EQ(quick.exit_code, 2) << quick.out << quick.err;
  EXPECT_THAT(quick.out, HasSubstr("rows tells right from wrong; its speeds were not checked"));
  EXPECT_THAT(quick.out, HasSubstr("10 problems: 1 sound, 9 not sound, 0 that this machine cannot "
                                   "measure; their speeds were not checked"));
}

// Both go the way of a policy's programs: the reference as a candidate, and the expert.
TEST_F(ProblemTest, ReferencesEarnLittleAndExpertsAllThatThereIs) {
  const std::string folder = SourceDir() + "/prompts/";
  bool paid = false;
  std::string seen;
  // (box_overlap_i32 has structs by value and returned.) Other work on the machine can spoil a
  // measurement, not three of them.
  for (int attempt = 0; attempt < 3 && !paid; ++attempt) {
    const WhetResult result = Whet({"problem", "check", folder + "box_overlap_i32.md",
                                    folder + "edit_distance_u8.md", "--json"});
    ASSERT_TRUE(result.json()["problems"].is_array()) << result.out << result.err;
    paid = true;
    for (const auto& problem : result.json()["problems"]) {
      absl::StrAppend(&seen, problem.dump(), "\n");
      paid &= problem["expert_speedup"].get<double>() >= 2 &&
              std::abs(problem["expert_reward"].get<double>() - 1.3) < 0.15 &&
              std::abs(problem["reference_reward"].get<double>() - 0.3) < 0.05;
    }
  }
  EXPECT_TRUE(paid) << seen;
}

TEST_F(ProblemTest, AFunctionBecomesAProblem) {
  const std::string function =
      "#include <math.h>\n\nstatic float root(float v) { return sqrtf(v); }\n\n"
      "// The length of every column.\n"
      "void lengths(const float* a, float* out, int rows, int cols) {\n"
      "  for (int j = 0; j < cols; ++j) {\n    float s = 0;\n"
      "    for (int i = 0; i < rows; ++i) s += a[i * cols + j] * a[i * cols + j];\n"
      "    out[j] = root(s);\n  }\n}\n";
  const std::string expert =
      "#include <math.h>\n"
      "void lengths(const float* __restrict a, float* __restrict out, int rows, int cols) {\n"
      "  for (int j = 0; j < cols; ++j) out[j] = 0;\n"
      "  for (int i = 0; i < rows; ++i)\n"
      "    for (int j = 0; j < cols; ++j) out[j] += a[i * cols + j] * a[i * cols + j];\n"
      "  for (int j = 0; j < cols; ++j) out[j] = sqrtf(out[j]);\n}\n";
  ASSERT_TRUE(WriteFileAtomically(Path("lengths.cc"), function).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("fast.cc"), expert).ok());
  const std::vector<std::string> words = {"problem",
                                          "import",
                                          Path("lengths.cc"),
                                          "--out",
                                          Path("lengths.md"),
                                          "--set",
                                          "prose=Lengths of columns.",
                                          "--set",
                                          "timed=rows=128 cols=200"};
  WhetResult result = Whet({words.begin(), words.end() - 2});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("Answer with --set timed=…"));
  std::vector<std::string> more = words;
  more.insert(more.end(), {"--set", "out.shpe=cols"});
  EXPECT_THAT(Whet(more).err, HasSubstr("did you mean 'out.shape'?"));

  result = Whet(words);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("rules may find a faster form (whet rewrite)"));
  result = Whet({"problem", "check", Path("lengths.md"), "--quick"});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("warning  expert"));
  EXPECT_EQ(Whet(words).exit_code, 2) << "what is there stays";

  more = words;
  more[4] = Path("better.md");
  more.insert(more.end(), {"--expert", Path("fast.cc"), "--json"});
  result = Whet(more);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.json()["file"], Path("better.md"));
  result = Whet({"problem", "check", Path("better.md"), "--json"});
  EXPECT_GT(result.json()["expert_speedup"].get<double>(), 1.2) << result.err;
  for (const auto& finding : result.json()["findings"]) {
    if (absl::StartsWith(finding["check"].get<std::string>(), "canary")) {
      EXPECT_EQ(finding["level"], "passed") << finding.dump();
    }
  }
}

// Inputs that leave out what the function branches on would let a program pass that is wrong there.
TEST_F(ProblemTest, AnImportedFunctionIsDrawnAllValuesAndHolesAreNamed) {
  const std::string function =
      "void rot13(const unsigned char* text, unsigned char* out, int n) {\n"
      "  for (int i = 0; i < n; ++i) {\n    unsigned char c = text[i];\n"
      "    if (c >= 'a' && c <= 'z') c = c <= 'm' ? c + 13 : c - 13;\n"
      "    else if (c >= 'A' && c <= 'Z') c = c <= 'M' ? c + 13 : c - 13;\n"
      "    out[i] = c;\n  }\n}\n";
  ASSERT_TRUE(WriteFileAtomically(Path("rot13.cc"), function).ok());
  std::vector<std::string> words = {"problem",
                                    "import",
                                    Path("rot13.cc"),
                                    "--set",
                                    "prose=Rotates.",
                                    "--set",
                                    "timed=50000",
                                    "--out",
                                    Path("letters.md"),
                                    "--set",
                                    "text.fill=uniform(97, 110)"};
  WhetResult result = Whet(words);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("--set KEY=VALUE says otherwise):\n  id=rot13\n  n.kind=size"));
  // Other work on the machine can spoil what is timed, not three times.
  const auto check = [&](const std::string& name) {
    WhetResult last = Whet({"problem", "check", Path(name)});
    for (int i = 1; i < 3 && last.exit_code != 0; ++i)
      last = Whet({"problem", "check", Path(name)});
    return last;
  };
  const WhetResult letters = check("letters.md");
  EXPECT_EQ(letters.exit_code, 0) << letters.out;
  EXPECT_THAT(letters.out,
              HasSubstr("line 5 of the reference: 'c >= 'A' && c <= 'Z'' is never true"));

  words.resize(words.size() - 2);
  words.back() = Path("all.md");
  result = Whet(words);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\n  text.fill=uniform(0, 255)\n"));
  const WhetResult all = check("all.md");
  EXPECT_EQ(all.exit_code, 0) << all.out;
  EXPECT_THAT(all.out, testing::Not(HasSubstr("is never")));
}

}  // namespace
}  // namespace whetstone
