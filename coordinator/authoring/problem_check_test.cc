#include "coordinator/authoring/problem_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "common/tree_testing.h"
#include "coordinator/authoring/difficulty.h"
#include "coordinator/authoring/negative_controls.h"
#include "coordinator/authoring/problem_new.h"
#include "coordinator/prompt/prompt_file.h"

namespace whetstone {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string PathOf(const std::string& name) {
  return absl::StrCat(SourceDir(), "/prompts/", name, ".md");
}

v1::Problem Load(const std::string& name) {
  const auto problem = ParsePromptFile(PathOf(name));
  CHECK(problem.ok());
  return *problem;
}

v1::Verdict Outcome(v1::Outcome outcome, double speedup = 0) {
  v1::Verdict verdict;
  verdict.set_outcome(outcome);
  verdict.set_speedup(speedup);
  verdict.set_speedup_low(speedup * 0.99);
  verdict.set_speedup_high(speedup * 1.01);
  return verdict;
}

// A FakeWorker answers as told: the reference is right, everything else wrong, unless changed.
struct FakeWorker {
  explicit FakeWorker(v1::Problem p) : problem(std::move(p)) {
    *calibration.mutable_expert() = Outcome(v1::CORRECT, 8);
    calibration.set_noise_band(0.006);
  }
  ProblemTools Tools() {
    return {.calibrate = [this](bool timed_too) -> absl::StatusOr<v1::Calibration> {
              calibrated = timed_too;
              if (!calibrate_status.ok()) return calibrate_status;
              return calibration;
            },
            .measure = [this](const std::string& source, bool time) -> absl::StatusOr<v1::Verdict> {
              ++measured;
              timed += time;
              if (!measure_status.ok()) return measure_status;
              if (source == problem.expert()) return expert;
              if (source == *ClearingOutputsFirst(problem)) return clearing;
              if (!passes.empty() && absl::StrContains(source, passes)) return reference;
              return source == problem.reference() ? reference : control;
            },
            .reward =
                [](const v1::Verdict& verdict, const v1::Calibration& calibration) {
                  return 0.3 +
                         std::log(verdict.speedup()) / std::log(calibration.expert().speedup());
                }};
  }
  ProblemReport Run(bool quick = false) {
    auto report = CheckProblem(problem, locations, Tools(), quick);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : ProblemReport{};
  }

  v1::Problem problem;
  PromptLocations locations = PromptLocations::Read(*ReadFile(PathOf(problem.id())), "p.md");
  v1::Calibration calibration;
  absl::Status calibrate_status;
  absl::Status measure_status;
  v1::Verdict expert = Outcome(v1::CORRECT, 7.9);
  v1::Verdict reference = Outcome(v1::CORRECT, 1.001);
  v1::Verdict clearing = Outcome(v1::CORRECT);
  v1::Verdict control = Outcome(v1::WRONG_ANSWER);
  std::string passes;  // What has this text in it is as right as the reference.
  bool calibrated = false;
  int measured = 0;
  int timed = 0;
};

TEST(ProblemCheckTest, ASoundProblem) {
  FakeWorker worker(Load("matmul_f32"));
  const ProblemReport report = worker.Run();
  EXPECT_TRUE(report.sound()) << report.Table();
  EXPECT_EQ(
      report.Table(),
      "ok       noise                 equal code measures within ±0.60 % on this machine\n"
      "ok       expert                8.00× the reference (7.92 to 8.08)\n"
      "ok       expert's reward       1.29 for 7.90×\n"
      "ok       reference             deterministic, agrees with itself on every size\n"
      "ok       equal code            the reference measures 1.0010× itself, inside the noise "
      "band ±1.00 %, and earns 0.30\n"
      "ok       outputs               written only\n"
      "ok       canary: empty body    caught: WRONG_ANSWER\n"
      "ok       canary: zeros         caught: WRONG_ANSWER\n"
      "ok       canary: constant      caught: WRONG_ANSWER\n"
      "ok       canary: stale output  caught: WRONG_ANSWER\n"
      "ok       canary: ignores a     caught: WRONG_ANSWER\n"
      "ok       canary: ignores b     caught: WRONG_ANSWER\n"
      "ok       inputs                take all 3 branches of the reference that were asked for\n"
      "ok       changes               7 small changes of the reference, all caught\n"
      "matmul_f32 is sound\n");
  EXPECT_EQ(report.ToJson()["sound"], true);
  EXPECT_EQ(report.ToJson()["findings"][0]["level"], "passed");
}

TEST(ProblemCheckTest, AnOutputThatIsReadFirstIsNone) {
  FakeWorker worker(Load("matmul_f32"));
  worker.clearing = Outcome(v1::WRONG_ANSWER);
  const ProblemReport report = worker.Run(/*quick=*/true);
  EXPECT_FALSE(report.sound());
  EXPECT_THAT(report.Table(), HasSubstr("say 'inout: true' of such an array"));
}

TEST(ProblemCheckTest, AProblemWithoutAnExpertIsSound) {
  FakeWorker worker(Load("matmul_f32"));
  worker.problem.clear_expert();
  worker.calibration.mutable_expert()->set_speedup(0);
  for (const bool quick : {false, true}) {
    const ProblemReport report = worker.Run(quick);
    EXPECT_TRUE(report.sound()) << report.Table();
    EXPECT_THAT(report.Table(), HasSubstr("warning  expert"));
    EXPECT_THAT(report.Table(), HasSubstr("whet rewrite may find one"));
    EXPECT_THAT(report.Table(), Not(HasSubstr("expert's reward")));
  }
}

TEST(ProblemCheckTest, AQuickCheckTellsRightFromWrongAndTimesOnlyWhatNothingElseCatches) {
  FakeWorker worker(Load("matmul_f32"));
  *worker.calibration.mutable_expert() = Outcome(v1::CORRECT, 1.1);  // too slow
  worker.expert.set_detail("right in all 7 cases");
  ProblemReport report = worker.Run(/*quick=*/true);
  EXPECT_FALSE(worker.calibrated);
  EXPECT_EQ(worker.timed, 1) << "an answer kept from an earlier call";
  EXPECT_TRUE(report.sound());
  EXPECT_THAT(report.Table(), testing::StartsWith("ok       expert                right in all 7"));
  EXPECT_THAT(report.Table(), HasSubstr("ok       canary: ignores b     caught: WRONG_ANSWER\n"
                                        "matmul_f32 tells right from wrong; its speeds were not "
                                        "checked\n"));
  EXPECT_EQ(report.ToJson()["quick"], true);

  worker.expert = Outcome(v1::WRONG_ANSWER);
  worker.reference = Outcome(v1::FORBIDDEN);
  worker.control = Outcome(v1::CORRECT);
  report = worker.Run(/*quick=*/true);
  EXPECT_FALSE(report.sound());
  EXPECT_THAT(report.Table(), HasSubstr("p.md:33: must be correct, but is WRONG_ANSWER: correct"));
  EXPECT_THAT(report.Table(), HasSubstr("must be correct, but is FORBIDDEN: make the reference"));
  EXPECT_THAT(report.Table(), HasSubstr("canary: ignores b"));
  EXPECT_THAT(report.Table(), testing::EndsWith("matmul_f32 is NOT sound\n"));
}

TEST(ProblemCheckTest, ASlowExpertFails) {
  FakeWorker worker(Load("matmul_f32"));
  *worker.calibration.mutable_expert() = Outcome(v1::CORRECT, 1.1);
  const ProblemReport report = worker.Run();
  EXPECT_FALSE(report.sound());
  EXPECT_THAT(
      report.Table(),
      HasSubstr("FAILED   expert                p.md:33: 1.10× the reference (1.09 to 1.11): "
                "needs at least 1.2×, or the reward cannot tell fast from slow: correct "
                "the expert, or write a faster one"));
}

TEST(ProblemCheckTest, AWrongExpertFails) {
  FakeWorker worker(Load("matmul_f32"));
  *worker.calibration.mutable_expert() = Outcome(v1::WRONG_ANSWER);
  worker.calibration.mutable_expert()->set_detail("n=3 element 0");
  EXPECT_THAT(worker.Run().Table(),
              HasSubstr("p.md:33: must be correct, but is WRONG_ANSWER: n=3 element 0: correct"));
}

TEST(ProblemCheckTest, AnExpertThatIsPaidTooLittleFails) {
  FakeWorker worker(Load("matmul_f32"));
  worker.expert = Outcome(v1::CORRECT, 4);
  const ProblemReport report = worker.Run();
  EXPECT_FALSE(report.sound());
  EXPECT_THAT(report.Table(), HasSubstr("0.97 for 4.00×, 0.97 for 4.00×, 0.97 for 4.00×, but 8.00× "
                                        "when calibrated"));
  worker.expert = Outcome(v1::SUSPECT);
  EXPECT_THAT(worker.Run().Table(), HasSubstr("p.md:11: the expert is called SUSPECT: 'cost' asks "
                                              "for more than one call must do"));
}

TEST(ProblemCheckTest, FiguresAreOfTheTimedSizes) {
  FakeWorker worker(Load("matmul_f32"));
  for (const double scale : {1.0, 4.0}) {
    v1::SizeResult* of_expert = worker.expert.add_sizes();
    of_expert->set_candidate_ns(1000 * scale);
    of_expert->set_floor_ns(250 * scale);
    worker.reference.add_sizes()->set_reference_ns(8000 * scale);
  }
  const ProblemReport report = worker.Run();
  EXPECT_NEAR(report.figures.reference_ns, 16000, 1);
  EXPECT_NEAR(report.figures.roofline_share, 0.25, 1e-6);
  EXPECT_EQ(report.Summary(),
            "matmul_f32 is sound: reference 16.0 µs, reward 0.30; expert 7.90×, reward 1.29");
  EXPECT_EQ(Difficulty(worker.problem), "easy");
  EXPECT_EQ(Difficulty(Load("fir_f32")), "hard");
}

TEST(ProblemCheckTest, AMachineThatIsTooSmallProvesNothing) {
  FakeWorker worker(Load("matmul_f32"));
  worker.calibrate_status = absl::FailedPreconditionError("2 kernel cores, this worker has 1");
  const ProblemReport report = worker.Run();
  EXPECT_FALSE(report.sound());
  EXPECT_FALSE(report.proven);
  EXPECT_THAT(report.Table(), HasSubstr("2 kernel cores, this worker has 1: check it on a larger"));
  EXPECT_THAT(report.Table(), HasSubstr("is not proven: this machine cannot measure it"));
}

TEST(ProblemCheckTest, WhatTheWorkerRefusesIsAFinding) {
  FakeWorker worker(Load("matmul_f32"));
  worker.calibrate_status = absl::InvalidArgumentError("the expert does not compile");
  const ProblemReport report = worker.Run();
  EXPECT_FALSE(report.sound());
  EXPECT_THAT(report.findings[0].detail, HasSubstr("the expert does not compile: correct the"));
  EXPECT_EQ(report.findings[0].location, "p.md:33");
  EXPECT_EQ(worker.measured, 0);
}

// What crashes is not told to be without state.
TEST(ProblemCheckTest, AReferenceThatCrashesIsToldSo) {
  FakeWorker worker(Load("matmul_f32"));
  worker.calibrate_status = absl::InvalidArgumentError(
      "the reference could not be measured: the problem's reference crashed (SIGSEGV) computing "
      "n=1");
  const ProblemReport report = worker.Run();
  EXPECT_THAT(report.findings[0].detail,
              HasSubstr("computing n=1: correct the reference, or what the inputs are filled with: "
                        "at every size it must return, without a crash"));
}

TEST(ProblemCheckTest, OurOwnFailureIsAnError) {
  FakeWorker worker(Load("matmul_f32"));
  worker.calibrate_status = absl::UnavailableError("no worker");
  EXPECT_EQ(CheckProblem(worker.problem, worker.locations, worker.Tools()).status().message(),
            "no worker");
  worker.calibrate_status = absl::OkStatus();
  worker.measure_status = absl::InternalError("out of disk");
  EXPECT_EQ(CheckProblem(worker.problem, worker.locations, worker.Tools()).status().message(),
            "out of disk");
}

TEST(ProblemCheckTest, AReferenceThatDisagreesWithItselfFails) {
  FakeWorker worker(Load("matmul_f32"));
  worker.reference = Outcome(v1::WRONG_ANSWER);
  const ProblemReport report = worker.Run();
  EXPECT_FALSE(report.sound());
  EXPECT_THAT(report.Table(), HasSubstr("does not agree with itself, so it is not deterministic"));
}

TEST(ProblemCheckTest, EqualCodeOutsideTheBandFailsAfterThreeTries) {
  FakeWorker worker(Load("matmul_f32"));
  worker.reference = Outcome(v1::CORRECT, 1.03);
  const ProblemReport report = worker.Run();
  EXPECT_FALSE(report.sound());
  EXPECT_THAT(report.Table(), HasSubstr("measures 1.0300×, 1.0300×, 1.0300× itself, outside"));
}

TEST(ProblemCheckTest, AControlThatPassesFails) {
  for (const v1::Outcome outcome : {v1::CORRECT, v1::SUSPECT}) {
    FakeWorker worker(Load("matmul_f32"));
    worker.control = Outcome(outcome, 1000);
    EXPECT_FALSE(worker.Run().sound());
  }
}

// Each way to pass without doing the work has a line, a reason and a remedy.
TEST(ProblemCheckTest, AControlThatPassesNamesWhatIsWrong) {
  FakeWorker worker(Load("matmul_f32"));
  worker.control = Outcome(v1::CORRECT, 1000);
  const std::string table = worker.Run().Table();
  for (const char* line :
       {"canary: zeros         p.md:10: passes for right without doing the work: lower the "
        "tolerances of 'compare', or choose inputs whose answers are larger and differ",
        "canary: stale output  p.md:4: an answer kept from an earlier call passes for right, so "
        "the outputs have no variance: fill the inputs with values that change the answer",
        "canary: ignores b     p.md:6: the reference is right although it reads zeros for 'b', so "
        "its answer does not depend on that input: use 'b' in the reference"}) {
    EXPECT_THAT(table, HasSubstr(line));
  }
}

TEST(ProblemCheckTest, AControlThatDidNotRunIsAWarning) {
  FakeWorker worker(Load("matmul_f32"));
  worker.control = Outcome(v1::COMPILE_ERROR);
  const ProblemReport report = worker.Run();
  EXPECT_TRUE(report.sound());
  EXPECT_THAT(report.Table(), HasSubstr("warning  canary: zeros"));
}

// Warnings: a change may be none.
TEST(ProblemCheckTest, WhatNoInputShowsIsNamed) {
  FakeWorker worker(Load("matmul_f32"));
  worker.passes = "(i < n) && whet_reached()";
  const ProblemReport unreached = worker.Run();
  EXPECT_TRUE(unreached.sound());
  EXPECT_THAT(unreached.Table(),
              HasSubstr("line 2 of the reference: 'i < n' is never true: programs that are wrong "
                        "there pass for right; choose fills or a generator, or sizes"));
  EXPECT_THAT(unreached.Table(), Not(HasSubstr("line 2 of the reference: a program")))
      << "it says nothing";

  worker.passes = "k < (n) - 1";
  const ProblemReport unnoticed = worker.Run();
  EXPECT_TRUE(unnoticed.sound());
  EXPECT_THAT(unnoticed.Table(), HasSubstr("a program in which 'k < n' ends one earlier passes for "
                                           "right: if it is wrong, choose inputs that show it"));
  worker.reference.set_object_hash("the same");
  EXPECT_THAT(worker.Run().Table(), Not(HasSubstr("passes for right"))) << "it is the same program";
}

TEST(ProblemCheckTest, WarnsOfLongCallsAndLongVerdicts) {
  FakeWorker worker(Load("matmul_f32"));
  v1::SizeResult* size = worker.reference.add_sizes();
  (*size->mutable_size())["n"] = 999;
  size->set_reference_ns(7e6);
  worker.reference.set_time_s(16);
  const std::string table = worker.Run().Table();
  EXPECT_THAT(table, HasSubstr("timed size n=999 takes 7.0 ms a call"));
  EXPECT_THAT(table, HasSubstr("one verdict takes 16.0 s"));
}

TEST(NegativeControlsTest, OneForEveryInput) {
  std::vector<std::string> names;
  const auto controls = MakeNegativeControls(Load("partition_i32"));
  ASSERT_TRUE(controls.ok());
  for (const NegativeControl& control : *controls) names.push_back(control.name);
  EXPECT_EQ(names, (std::vector<std::string>{"empty body", "zeros", "constant", "stale output",
                                             "ignores data", "ignores pivot"}));
}

TEST(NegativeControlsTest, NoEmptyBodyWhereOnlyAValueIsReturned) {
  const auto controls = MakeNegativeControls(Load("word_count_u8"));
  ASSERT_TRUE(controls.ok());
  EXPECT_EQ((*controls)[0].name, "zeros");
  EXPECT_EQ((*controls)[0].source,
            "int word_count(const unsigned char* text, int n) {\n    return 0;\n}\n");
}

constexpr char kArraysInStructs[] = R"(---
id: apply
types: {Op: {r: f64[3][3], name: char[16], w: f32}}
signature: Op apply(const Op* ops, Op* to, Op by, int n)
args:
  ops: {type: Op, shape: [n], fill: iota}
  to: {type: Op, shape: [n], out: true}
  by: {type: Op, fill: zero}
  n: {size: n}
returns: {type: Op}
sizes: {check: [1], timed: [9]}
---
Copies.

## reference

```cpp
Op apply(const Op* ops, Op* to, Op by, int n) {
    for (int i = 0; i < n; i++) to[i] = ops[i];
    return by;
}
```
)";

// Every control of every kind of problem is a program.
TEST(NegativeControlsTest, AllCompile) {
  auto dir = TempDir::Make("controls");
  ASSERT_TRUE(dir.ok());
  std::string all = "#include <algorithm>\n#include <vector>\n#include <math.h>\n";
  int number = 0;
  for (const char* name :
       {"matmul_f32", "word_count_u8", "partition_i32", "sort_u32", "spmm_csr_f32", "box_blur_f32",
        "softmax_rows_f32", "nbody_aos_f32", "box_overlap_i32", "arrays in structs"}) {
    const bool here = absl::StrContains(name, " ");
    const v1::Problem problem = here ? ParsePrompt(kArraysInStructs, name).value() : Load(name);
    const auto controls = MakeNegativeControls(problem);
    ASSERT_TRUE(controls.ok()) << name;
    for (const NegativeControl& control : *controls) {
      absl::StrAppend(&all, "namespace n", number++, " {\n", StructText(problem), control.source,
                      "}\n");
    }
  }
  const std::string source = dir->path() + "/all.cc";
  ASSERT_TRUE(WriteFileAtomically(source, all).ok());
  EXPECT_EQ(std::system(("g++ -std=c++20 -fsyntax-only -Wall -Werror " + source).c_str()), 0);
}

TEST(ProblemNewTest, TheSkeletonParses) {
  const auto text = NewPromptFile("my_problem");
  ASSERT_TRUE(text.ok());
  const auto problem = ParsePrompt(*text, "my_problem.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->id(), "my_problem");
  EXPECT_FALSE(absl::StrContains(*text, "NAME"));
}

TEST(ProblemNewTest, RefusesBadNames) {
  for (const char* name : {"", "Upper", "1st", "a-b", "while", "a b", "../x"}) {
    EXPECT_EQ(NewPromptFile(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

}  // namespace
}  // namespace whetstone
