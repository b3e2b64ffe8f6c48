// `whet discover` on a plain C++ file: import, check, rules, a campaign of the tiny model, a proof;
// killed on the way, and with input that it cannot take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {
namespace {

using std::chrono::seconds;
using testing::AnyOf;
using testing::HasSubstr;

constexpr char kFunction[] = R"(
// The product of two square matrices, row by row.
void multiply(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
)";

class DiscoverTest : public WhetTest {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(WriteFileAtomically(Path(name), text).ok());
    return Path(name);
  }
  std::string Found() const { return Path("found"); }
  // The command for `file`, with as little learning as there can be.
  std::vector<std::string> Discover(const std::string& file) const {
    return {"discover", file,
            "--out",    Found(),
            "--budget", "120 candidates",
            "--set",    "model=" + TinyModel(),
            "--set",    "train.steps=8",
            "--set",    "train.group_size=16",
            "--set",    "warmup.nearest=4",
            "--set",    "warmup.references=1",
            "--set",    "warmup.batch_size=4",
            "--set",    "generate.max_new_tokens=16",
            "--answer", "check=1,2,17",
            "--json"};
  }
  static std::vector<std::string> And(std::vector<std::string> words, const std::string& more) {
    words.push_back(more);
    return words;
  }
  std::string Log() const { return ReadFile(Found() + "/rules.log").value_or(""); }
};

TEST_F(DiscoverTest, APlainFunctionEndsInAFasterProvedOneAndAKillLosesNothing) {
  const std::string file = Write("multiply.cc", kFunction);
  const std::vector<std::string> command = And(Discover(file), "--yes");
  std::unique_ptr<BackgroundProgram> first;
  // On a machine that does something else the check may find that it cannot tell fast from slow.
  for (int attempt = 0; attempt < 3 && Log().empty(); ++attempt) {
    first = StartWhet(command);
    ASSERT_TRUE(Eventually([&] { return Log().size() > 1000 || first->Ended(); }, seconds(240)));
  }
  ASSERT_FALSE(first->Ended()) << first->Wait(seconds(1)).err;
  first->Signal(SIGKILL);
  first->Wait(seconds(20));
  {
    const auto second = StartWhet(command);
    const std::string rows = Found() + "/run/metrics.jsonl";
    ASSERT_TRUE(Eventually([&] { return !ReadFile(rows).value_or("").empty() || second->Ended(); },
                           seconds(240)));
    ASSERT_FALSE(second->Ended()) << second->Wait(seconds(1)).err;
    second->Signal(SIGKILL);
    second->Wait(seconds(20));
  }
  {
    // A stop in the middle keeps and tells what there is.
    const std::string rows = Found() + "/run/metrics.jsonl";
    const size_t before = ReadFile(rows).value_or("").size();
    const auto third = StartWhet(command);
    ASSERT_TRUE(
        Eventually([&] { return ReadFile(rows).value_or("").size() > before || third->Ended(); },
                   seconds(240)));
    ASSERT_FALSE(third->Ended()) << third->Wait(seconds(1)).err;
    third->Signal(SIGINT);
    const WhetResult stopped = third->Wait(seconds(120));
    EXPECT_EQ(stopped.exit_code, 130) << stopped.out << stopped.err;
    ASSERT_TRUE(stopped.json().is_object()) << stopped.out << stopped.err;
    EXPECT_GT(stopped.json()["speedup"].get<double>(), 1.2) << stopped.out;
  }
  const WhetResult found = Whet(command);
  // 2: its own benchmark found another speed, on a machine that does something else meanwhile.
  ASSERT_TRUE(found.exit_code == 0 || found.exit_code == 2) << found.out << found.err;
  // No program was measured twice.
  std::set<std::string> names;
  for (const absl::string_view line : absl::StrSplit(Log(), '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    EXPECT_TRUE(names.insert(words[1]).second) << line;
  }
  EXPECT_GE(names.size(), 20u);
  const nlohmann::json result = found.json();
  EXPECT_GT(result["speedup"].get<double>(), 1.2) << found.out << found.err;
  EXPECT_TRUE(result["confirmed"].is_boolean()) << found.out << found.err;
  EXPECT_THAT(found.err, Not(HasSubstr("outputs are wrong")));
  EXPECT_THAT(ReadFile(Found() + "/best/diff.patch").value_or(""), HasSubstr("--- reference.cc"));
  EXPECT_THAT(ReadFile(Found() + "/best/history.json").value_or(""), HasSubstr("rules"));
  EXPECT_TRUE(ReadFile(Found() + "/best/run.sh").ok());
  // Rules have a fifth of the budget; of the campaign's steps of 16 programs six fit into the rest,
  // and none more when it is run again.
  EXPECT_EQ(result["steps_done"], 6) << found.err;
  EXPECT_EQ(result["steps_total"], 8);
  const WhetResult again = Whet(command);
  EXPECT_EQ(again.json()["steps_done"], 6) << again.err;
  EXPECT_THAT(again.err, HasSubstr("the budget is spent"));

  const WhetResult other = Whet({"discover", Write("other.cc", "// edited\n"), "--out", Found()});
  EXPECT_EQ(other.exit_code, 2) << other.out << other.err;
  EXPECT_THAT(other.err, HasSubstr("search for another function"));
  const WhetResult otherwise = Whet(And(And(command, "--answer"), "hidden=97"));
  EXPECT_EQ(otherwise.exit_code, 2) << otherwise.out << otherwise.err;
  EXPECT_THAT(otherwise.err, HasSubstr("other answers"));
  const WhetResult elsewise = Whet(And(And(command, "--set"), "seed=3"));
  EXPECT_EQ(elsewise.exit_code, 2) << elsewise.out << elsewise.err;
  EXPECT_THAT(elsewise.err, HasSubstr("other settings"));
}

TEST_F(DiscoverTest, SizesAtWhichTheFunctionGivesNoResultAreNotChecked) {
  constexpr char kSpread[] = R"(
// How far each number is from the mean, times the variance: of one number there is none. (Numbers
// that are all alike, as they are drawn now and then, have one, 0.)
void spread(const double* x, int n, double* out) {
  double mean = 0, variance = 0;
  for (int i = 0; i < n; ++i) mean += x[i] / n;
  for (int i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean) / (n - 1);
  for (int i = 0; i < n; ++i) out[i] = (x[i] - mean) * variance;
}
)";
  const WhetResult unseen = Whet({"discover", Write("spread.cc", kSpread), "--out", Found(),
                                  "--answer", "timed=96,160", "--json"},
                                 seconds(120));
  EXPECT_EQ(unseen.exit_code, 2) << unseen.out << unseen.err;
  EXPECT_THAT(unseen.err, HasSubstr("\n  not at 1: WRONG_ANSWER"));
  EXPECT_THAT(unseen.err, HasSubstr("--yes"));
  EXPECT_THAT(ReadFile(Found() + "/problem.md").value_or(""),
              HasSubstr("check: [{n: 2}, {n: 3}, {n: 17}, {n: 64}]"));
}

TEST_F(DiscoverTest, OnlyArraysThatMustBeAreChangedInPlace) {
  constexpr char kBlend[] = R"(
// Adds x to y, and writes what that is twice.
void blend(int n, const float* x, float* y, float* twice) {
  for (int i = 0; i < n; ++i) y[i] += x[i];
  for (int i = 0; i < n; ++i) twice[i] = 2 * y[i];
}
)";
  const std::vector<std::string> command = {"discover", Write("blend.cc", kBlend), "--answer",
                                            "timed=96,160", "--out"};
  const WhetResult unseen = Whet(And(command, Found()), seconds(120));
  EXPECT_EQ(unseen.exit_code, 2) << unseen.out << unseen.err;
  EXPECT_THAT(unseen.out, HasSubstr("\n  y.kind=inout\n"));
  const std::string problem = ReadFile(Found() + "/problem.md").value_or("");
  EXPECT_THAT(problem, HasSubstr("y: {type: f32, shape: [n], fill: uniform(-1, 1), inout: true}"));
  EXPECT_THAT(problem, HasSubstr("twice: {type: f32, shape: [n], out: true}"));
  EXPECT_THAT(problem, HasSubstr("check: [{n: 1}, {n: 2}"));
  // An answer has the last word, and is told why it will not do.
  const WhetResult given =
      Whet(And(And(And(command, Path("given")), "--answer"), "y.kind=out"), seconds(120));
  EXPECT_EQ(given.exit_code, 2) << given.out << given.err;
  EXPECT_THAT(given.err, HasSubstr("run against itself, is not right: WRONG_ANSWER"));
  EXPECT_FALSE(ReadFile(Path("given/problem.md")).ok());
}

// With a negative box it never ends. Whole numbers that nobody wrote are no numbers to add to,
// though both sides find the same there.
TEST_F(DiscoverTest, AFunctionGetsInputsWithWhichItEnds) {
  constexpr char kAhead[] = R"(
// Counts how many are ahead of each on a ring.
void ahead(const double* x, int n, double box, int* counts) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double d = x[j] - x[i];
      while (d > box / 2) d -= box;
      counts[i] += d > 0;
    }
}
)";
  const WhetResult unseen = Whet({"discover", Write("ahead.cc", kAhead), "--out", Found(),
                                  "--answer", "hidden=none", "--json"},
                                 seconds(240));
  EXPECT_EQ(unseen.exit_code, 2) << unseen.out << unseen.err;
  EXPECT_THAT(unseen.err, HasSubstr("--yes"));
  const std::string problem = ReadFile(Found() + "/problem.md").value_or("");
  EXPECT_THAT(problem, HasSubstr("box: {type: f64, fill: uniform(0.5, 1.5)}"));
  EXPECT_THAT(problem, HasSubstr("x: {type: f64, shape: [n], fill: uniform(-1, 1)}"));
  EXPECT_THAT(problem, HasSubstr("inout: true}"));
}

TEST_F(DiscoverTest, LengthsThatLoopsDoNotSayAreFoundByRunning) {
  constexpr char kThin[] = R"(
// Keeps one of so many numbers, and flags those that are positive.
int thin(const float* x, int n, int step, float* kept, unsigned char* flags) {
  int m = 0;
  for (int i = 0; i < n; i += step) kept[m++] = 2 * x[i];
  for (int i = 0; i < n; ++i) {
    if (i % 8 == 0) flags[i / 8] = 0;
    flags[i / 8] |= (x[i] > 0) << i % 8;
  }
  return m;
}
)";
  const WhetResult unseen = Whet({"discover", Write("thin.cc", kThin), "--out", Found(), "--answer",
                                  "timed=n=960 step=2, n=1600 step=3", "--json"},
                                 seconds(120));
  EXPECT_EQ(unseen.exit_code, 2) << unseen.out << unseen.err;
  EXPECT_THAT(unseen.err, HasSubstr("--yes"));
  const std::string problem = ReadFile(Found() + "/problem.md").value_or("");
  EXPECT_THAT(problem, HasSubstr("x: {type: f32, shape: [n]"));
  EXPECT_THAT(problem, HasSubstr("kept: {type: f32, shape: [(n-1)/step+1], out: true}"));
  EXPECT_THAT(problem, HasSubstr("flags: {type: u8, shape: [(n+7)/8], out: true}"));
  // What cannot be run has no lengths; the question says so.
  const WhetResult astray =
      Whet({"discover",
            Write("astray.cc",
                  "void f(float* y, int n, int k) { y[static_cast<long>(n + k) << 40] = 1; }"),
            "--out", Path("astray"), "--yes"},
           seconds(120));
  EXPECT_EQ(astray.exit_code, 2) << astray.out << astray.err;
  EXPECT_THAT(astray.err, HasSubstr("not found by running the function: "));
  EXPECT_THAT(astray.err, HasSubstr("SIGSEGV"));
}

TEST_F(DiscoverTest, WholeNumbersThatArePlacesAreDrawnFromSizes) {
  constexpr char kGather[] = R"(
// Adds up rows of what the table holds at some places.
void gather(const double* table, const int* at, const int* begins, int rows, int n, int m,
            double* out) {
  double all = 0;
  for (int j = 0; j < m; ++j) all += table[j];
  for (int r = 0; r < rows; ++r) {
    double sum = all;
    for (int i = begins[r]; i < begins[r + 1]; ++i) sum += table[at[i]];
    out[r] = sum;
  }
  for (int i = 0; i < n; ++i) out[0] += table[at[i]];
}
)";
  const WhetResult unseen =
      Whet({"discover", Write("gather.cc", kGather), "--out", Found(), "--answer",
            "timed=rows=96 n=960 m=500, rows=50 n=800 m=900", "--json"},
           seconds(240));
  EXPECT_EQ(unseen.exit_code, 2) << unseen.out << unseen.err;
  EXPECT_THAT(unseen.err, HasSubstr("--yes"));
  const std::string problem = ReadFile(Found() + "/problem.md").value_or("");
  EXPECT_THAT(problem, HasSubstr("table: {type: f64, shape: [m], fill: uniform(-1, 1)}"));
  EXPECT_THAT(problem, HasSubstr("at: {type: i32, shape: [n], fill: uniform(0, m-1)}"));
  EXPECT_THAT(problem, HasSubstr("begins: {type: i32, shape: [rows+1], fill: sorted(0, n)}"));
}

// Parameters that a problem does not have take a form that it has.
TEST_F(DiscoverTest, ContainersReferencesAndStructsOfSizesAreTaken) {
  constexpr char kWeigh[] = R"(
#include <vector>
struct Shape { int rows, cols; };
struct Kernel { float weights[3]; float bias; };
static float neighbour(const std::vector<float>& image, const Shape& shape, int r, int c) {
  return c < 0 || c >= shape.cols ? 0 : image[r * shape.cols + c];
}
// Weighs every pixel and its two neighbours in the row.
void weigh(const std::vector<float>& image, const Shape& shape, const Kernel& kernel,
           std::vector<float>& out) {
  for (int r = 0; r < shape.rows; ++r)
    for (int c = 0; c < shape.cols; ++c) {
      float sum = kernel.bias;
      for (int k = 0; k < 3; ++k) {
        sum += kernel.weights[k] * neighbour(image, shape, r, c + k - 1);
      }
      out[r * shape.cols + c] = sum;
    }
}
)";
  const WhetResult unseen =
      Whet({"discover", Write("weigh.cc", kWeigh), "--out", Found(), "--answer",
            "timed=shape_rows=96 shape_cols=160, shape_rows=120 shape_cols=96", "--json"},
           seconds(240));
  EXPECT_EQ(unseen.exit_code, 2) << unseen.out << unseen.err;
  EXPECT_THAT(unseen.err, HasSubstr("--yes"));
  EXPECT_THAT(unseen.err, HasSubstr("'shape' (const Shape&) is a number for each field"));
  const std::string problem = ReadFile(Found() + "/problem.md").value_or("");
  EXPECT_THAT(problem, HasSubstr("Kernel: {weights: f32[3], bias: f32}"));
  EXPECT_THAT(problem, HasSubstr("image: {type: f32, shape: [shape_cols*shape_rows], fill: "));
}

// Of letters drawn from all bytes none is in a motif as long as the text, of which any may be
// wrong.
TEST_F(DiscoverTest, InputsAreDrawnSoThatWrongProgramsAreWrong) {
  constexpr char kFind[] = R"(
// Finds where a motif first occurs with at most so many wrong bases ('N' is any), or -1.
int find(const char* bases, int n, const char* motif, int length, int most) {
  for (int i = 0; i + length <= n; ++i) {
    int wrong = 0;
    for (int j = 0; j < length; ++j) wrong += motif[j] != 'N' && bases[i + j] != motif[j];
    if (wrong <= most) return bases[i] == 'A' ? i : -2 - i;
  }
  return -1;
}
)";
  const WhetResult unseen =
      Whet({"discover", Write("find.cc", kFind), "--out", Found(), "--json"}, seconds(240));
  EXPECT_EQ(unseen.exit_code, 2) << unseen.out << unseen.err;
  EXPECT_THAT(unseen.err, HasSubstr("so that programs that do not do the work are wrong"));
  EXPECT_THAT(unseen.err, HasSubstr("--yes"));
  const std::string problem = ReadFile(Found() + "/problem.md").value_or("");
  // With either the letters that it names are met.
  EXPECT_THAT(problem, AnyOf(HasSubstr("bases: {type: i8, shape: [n], fill: uniform(65, 78)}"),
                             HasSubstr("bases: {type: i8, shape: [n], fill: one_of(0, 65, 78)}")));
  EXPECT_THAT(problem, HasSubstr("most: {type: i32, fill: uniform(1, 8)}"));
  EXPECT_THAT(problem, HasSubstr("{n: 64, length: 9}"));
}

TEST_F(DiscoverTest, WhatEndsEarlyIsNotTimedAtTheLargestSizes) {
  constexpr char kFirst[] = R"(
// Where something is first large.
int first_large(const float* x, int n) {
  for (int i = 0; i < n; ++i)
    if (x[i] > 0.98f) return i;
  return -1;
}
)";
  const WhetResult unseen =
      Whet({"discover", Write("first.cc", kFirst), "--out", Found(), "--json"}, seconds(240));
  EXPECT_EQ(unseen.exit_code, 2) << unseen.out << unseen.err;
  EXPECT_THAT(unseen.err, HasSubstr("--yes"));
  EXPECT_THAT(ReadFile(Found() + "/problem.md").value_or(""),
              HasSubstr("timed: [{n: 131072}, {n: 163841}]"));
}

// A thousandth of a time of one, at a rate of one, forgets everything at once.
TEST_F(DiscoverTest, NumbersThatChangeNothingAreDrawnLarger) {
  constexpr char kFollow[] = R"(
#include <cmath>
// Follows the peaks of a signal and lets go of them slowly.
void follow(const float* x, float* y, int n, float release_ms, float rate) {
  const float keep = std::exp(-1.0f / (0.001f * release_ms * rate));
  float level = 0;
  for (int i = 0; i < n; ++i) {
    const float a = std::fabs(x[i]);
    level = a > level ? a : a + (level - a) * keep;
    y[i] = level;
  }
}
)";
  const WhetResult unseen =
      Whet({"discover", Write("follow.cc", kFollow), "--out", Found(), "--json"}, seconds(240));
  EXPECT_EQ(unseen.exit_code, 2) << unseen.out << unseen.err;
  EXPECT_THAT(unseen.err, HasSubstr("--yes"));
  const std::string problem = ReadFile(Found() + "/problem.md").value_or("");
  EXPECT_THAT(problem, HasSubstr("release_ms: {type: f32, fill: uniform(10, 100)}"));
  EXPECT_THAT(problem, HasSubstr("rate: {type: f32, fill: uniform(10, 100)}"));
  EXPECT_THAT(problem, HasSubstr("x: {type: f32, shape: [n], fill: uniform(-1, 1)}"));
}

TEST_F(DiscoverTest, InputsThatMustFitTogetherAreMadeByAFunction) {
  constexpr char kRoutes[] = R"(
// What is met on the way round from each of some places.
float routes(const int* next, const float* toll, const int* starts, int n, int k) {
  float sum = 0;
  for (int i = 0; i < k; ++i) {
    int at = starts[i];
    do {
      sum += toll[at];
      at = next[at];
    } while (at != starts[i]);
  }
  return sum / n;
}
)";
  // It knows no circle of one.
  constexpr char kCircle[] = R"(
// One circle through all places, whose step has no divisor in common with n.
void generate(int* next, float* toll, int* starts, int n, int k, unsigned long long seed) {
  int step = 1 + seed % (n - 1);
  const auto divides = [&](int d) { return step % d == 0 && n % d == 0; };
  for (int d = 2; d <= step; ++d)
    if (divides(d)) step = 1, d = 1;
  for (int i = 0; i < n; ++i) next[i] = (i + step) % n;
  for (int i = 0; i < k; ++i) starts[i] = (seed + 7 * i) % n;
}
)";
  const std::vector<std::string> command = {"discover", Write("routes.cc", kRoutes), "--out",
                                            Found(), "--json"};
  const std::vector<std::string> with =
      And(And(command, "--generator"), Write("circle.cc", kCircle));
  const WhetResult unseen = Whet(with, seconds(240));
  EXPECT_EQ(unseen.exit_code, 2) << unseen.out << unseen.err;
  EXPECT_THAT(unseen.err, HasSubstr("--yes"));
  const std::string problem = ReadFile(Found() + "/problem.md").value_or("");
  EXPECT_THAT(problem, HasSubstr("## generator\n\n```cpp\n// One circle"));
  EXPECT_THAT(problem, HasSubstr("next: {type: i32, shape: [n], fill:"));
  EXPECT_THAT(problem, HasSubstr("starts: {type: i32, shape: [k], fill:"));
  EXPECT_THAT(problem, HasSubstr("toll: {type: f32, shape: [n], fill: uniform(-1, 1)}"));
  EXPECT_THAT(problem, HasSubstr("check: [{n: 2, k: 3}"));
  // Without it the same folder goes on, with another one it does not.
  EXPECT_THAT(Whet(command).err, HasSubstr("--yes"));
  Write("circle.cc", "// edited\n");
  const WhetResult other = Whet(with);
  EXPECT_EQ(other.exit_code, 2) << other.out << other.err;
  EXPECT_THAT(other.err, HasSubstr("other answers"));
  const WhetResult none = Whet(And(And(command, "--generator"), Path("none.cc")));
  EXPECT_EQ(none.exit_code, 2) << none.out << none.err;
  EXPECT_THAT(none.err, HasSubstr("none.cc"));
}

TEST_F(DiscoverTest, WhatItCannotTakeIsSaidBeforeAnythingIsMeasured) {
  struct Case {
    std::string code;
    std::string says;
  };
  for (const Case& c :
       {Case{"int main() { return 0; }", "main"},
        Case{"void f(float* a, int n) {}\nvoid g(float* a, int n) {}", "--function"},
        Case{"void f(float** a, int n) {}", "float"}, Case{"int x = 1;", "function"}}) {
    const WhetResult wrong =
        Whet({"discover", Write("wrong.cc", c.code), "--out", Found(), "--yes"}, seconds(60));
    EXPECT_EQ(wrong.exit_code, 2) << c.code << wrong.out << wrong.err;
    EXPECT_THAT(wrong.err, HasSubstr(c.says)) << c.code;
    EXPECT_FALSE(ReadFile(Found() + "/problem.md").ok()) << c.code;
  }
  const std::string file = Write("multiply.cc", kFunction);
  const WhetResult nothing = Whet({"discover", file, "--budget", "0s", "--out", Found()});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("write 90s, 20m"));
  const WhetResult unseen = Whet(Discover(file), seconds(60));
  EXPECT_EQ(unseen.exit_code, 2) << unseen.out << unseen.err;
  EXPECT_THAT(unseen.err, HasSubstr("--yes"));
  const WhetResult own = Whet(And(And(Discover(file), "--set"), "problems=[x.md]"));
  EXPECT_EQ(own.exit_code, 2);
  EXPECT_THAT(own.err, HasSubstr("--set problems"));
  const WhetResult model =
      Whet(And(And(And(Discover(file), "--yes"), "--set"), "model=/none"), seconds(60));
  EXPECT_EQ(model.exit_code, 2) << model.out << model.err;
  EXPECT_THAT(model.err, HasSubstr("/none"));
}

}  // namespace
}  // namespace whetstone
