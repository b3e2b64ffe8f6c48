#include "coordinator/proof/best.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/file.h"
#include "common/problem/compile_flags.h"
#include "common/sha256.h"
#include "common/tree_testing.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/proof/standalone_benchmark.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

// A problem's stand-alone benchmark, for a verdict so wide that any machine, however busy, is
// inside.
class StandaloneTest : public testing::TestWithParam<std::string> {
 protected:
  void Read(const std::string& name) {
    const absl::StatusOr<std::string> text = ReadFile(absl::StrCat(SourceDir(), "/prompts/", name));
    ASSERT_TRUE(text.ok()) << text.status();
    // A problem's structs may be named like what the benchmark uses itself.
    const absl::StatusOr<v1::Problem> problem =
        ParsePrompt(absl::StrReplaceAll(*text, {{"Box", "Buffer"}, {"Overlap", "Data"}}), name);
    ASSERT_TRUE(problem.ok()) << problem.status();
    problem_ = *problem;
  }
  // Builds and runs it with `source` as the program found; returns its exit code.
  int Run(const std::string& source) const {
    v1::Verdict verdict;
    verdict.set_outcome(v1::CORRECT);
    verdict.set_timed(true);
    // The expert is faster than that, and confirmed all the same.
    verdict.set_speedup(1.65);
    verdict.set_speedup_low(1.6);
    verdict.set_speedup_high(1.7);
    EXPECT_TRUE(WriteProof(folder_.path() + "/proof", problem_, source, verdict,
                           nlohmann::ordered_json::object())
                    .ok());
    const int status =
        std::system(absl::StrCat("sh ", folder_.path(), "/proof/run.sh ",
                                 "--benchmark_repetitions=5 > ", folder_.path(), "/out 2>&1")
                        .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string out() const { return *ReadFile(folder_.path() + "/out"); }

  v1::Problem problem_;
  const TempDir folder_ = *TempDir::Make("best");
};

TEST_P(StandaloneTest, ProvesTheExpert) {
  ASSERT_NO_FATAL_FAILURE(Read(GetParam()));
  EXPECT_EQ(Run(problem_.expert()), 0) << out();
  EXPECT_NE(out().find("\nCONFIRMED"), std::string::npos) << out();
}

// For one problem alone: each build takes seconds.
using StandaloneRefusalTest = StandaloneTest;
INSTANTIATE_TEST_SUITE_P(Prompts, StandaloneRefusalTest, testing::Values("partition_i32.md"),
                         [](const auto&) { return "partition_i32"; });

TEST_P(StandaloneRefusalTest, FindsTheReferenceTooSlowAndAnEmptyBodyWrong) {
  ASSERT_NO_FATAL_FAILURE(Read(GetParam()));
  EXPECT_EQ(Run(problem_.reference()), 1) << out();
  EXPECT_NE(out().find("\nNOT CONFIRMED"), std::string::npos) << out();
  const std::string empty =
      absl::StrCat(problem_.signature(), problem_.has_returns() ? " { return {}; }\n" : " {}\n");
  EXPECT_EQ(Run(empty), 3) << "an empty body must be found wrong; " << out();
  EXPECT_NE(out().find("WRONG at"), std::string::npos) << out();
}

INSTANTIATE_TEST_SUITE_P(Prompts, StandaloneTest,
                         // The problems are one in place with checker and result, one with a
                         // generator, one with a size that has the name of another variable, and
                         // one with structs by value and returned.
                         testing::Values("partition_i32.md", "spmm_csr_f32.md",
                                         "pairwise_sqdist_f32.md", "box_overlap_i32.md"),
                         [](const auto& info) {
                           return info.param.substr(0, info.param.find('.'));
                         });

// The list that the worker compiles with, none of its own.
TEST(StandaloneFlagsTest, AreTheWorkersAndSoIsTheCompiler) {
  v1::Problem problem = *ParsePromptFile(absl::StrCat(SourceDir(), "/prompts/partition_i32.md"));
  problem.mutable_compile()->add_flags("-ffast-math");
  v1::Verdict verdict;
  verdict.set_speedup(2);
  const auto cmake = [&] {
    return StandaloneBenchmark(problem, problem.expert(), verdict)->at("CMakeLists.txt");
  };
  const std::string flags = absl::StrJoin(CompileFlags(problem.compile()), " ");
  EXPECT_THAT(flags, HasSubstr("-ffast-math"));
  EXPECT_THAT(flags, HasSubstr("-falign-functions=64"));
  EXPECT_THAT(cmake(), HasSubstr("COMPILE_OPTIONS " + flags + ")"));
  EXPECT_THAT(cmake(), HasSubstr("find_program(CMAKE_CXX_COMPILER NAMES g++)"));
  problem.mutable_compile()->set_compiler("clang++");
  EXPECT_THAT(cmake(), HasSubstr("find_program(CMAKE_CXX_COMPILER NAMES clang++-16 clang++)"));
}

TEST(StandaloneUnitTest, WhatIsSaidOfHeadersFunctionsStandsOutsideOfTheNamespace) {
  const v1::Problem problem =
      *ParsePromptFile(absl::StrCat(SourceDir(), "/prompts/partition_i32.md"));
  const std::string again =
      "__attribute__((const, simd(\"notinbranch\"))) double exp(double) noexcept;\n";
  v1::Verdict verdict;
  verdict.set_speedup(2);
  const std::string unit =
      StandaloneBenchmark(problem, "#include <cmath>\n" + again + problem.expert(), verdict)
          ->at("candidate.cc");
  EXPECT_THAT(unit, HasSubstr(">\n" + again + "\nnamespace candidate {\n\n#include <cmath>\n"));
}

TEST(StandaloneStructsTest, ArraysInStructsAreFilledAndComparedInLoops) {
  const absl::StatusOr<v1::Problem> problem = ParsePrompt(
      "---\nid: apply\ntypes: {Op: {m: f64[3][3], name: char[16], w: f32}}\n"
      "signature: Op apply(const Op* ops, Op* to, Op by, int n)\nargs:\n"
      "  ops: {type: Op, shape: [n], fill: {m: uniform(-1, 1), name: uniform(97, 99), w: zero}}\n"
      "  to: {type: Op, shape: [n], out: true}\n  by: {type: Op, fill: zero}\n  n: {size: n}\n"
      "returns: {type: Op}\nsizes: {check: [1], timed: [9]}\n---\nCopies.\n\n## reference\n\n"
      "```cpp\nOp apply(const Op* ops, Op* to, Op by, int n) {\n"
      "    for (int i = 0; i < n; i++) to[i] = ops[i];\n    return by;\n}\n```\n",
      "apply.md");
  ASSERT_TRUE(problem.ok()) << problem.status();
  v1::Verdict verdict;
  verdict.set_speedup(2);
  const auto files = StandaloneBenchmark(*problem, problem->reference(), verdict);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(files->at("benchmark.cc"),
              HasSubstr("  for (std::size_t whet_at = 0; whet_at < 9; ++whet_at) {\n"));
  EXPECT_THAT(files->at("benchmark.cc"), HasSubstr("&::Op::name, whet_at).data()"));
  EXPECT_THAT(files->at("benchmark.cc"), HasSubstr("&::Op::w).data()"));
  const TempDir folder = *TempDir::Make("best");
  for (const auto& [name, text] : *files) {
    ASSERT_TRUE(WriteFileAtomically(absl::StrCat(folder.path(), "/", name), text).ok());
  }
  EXPECT_EQ(std::system(absl::StrCat("g++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror ",
                                     folder.path(), "/benchmark.cc")
                            .c_str()),
            0);
}

TEST(ProvenanceTest, NamesRunMachineAndSeeds) {
  const absl::StatusOr<v1::Problem> problem =
      ParsePromptFile(absl::StrCat(SourceDir(), "/prompts/matmul_f32.md"));
  ASSERT_TRUE(problem.ok()) << problem.status();
  const TempDir folder = *TempDir::Make("best");
  const RunPaths paths(folder.path());
  v1::Campaign campaign;
  campaign.set_name("mine");
  campaign.set_seed(~uint64_t{0});
  IncumbentEntry incumbent;
  incumbent.step = 3;
  incumbent.group_index = 1;
  incumbent.sample = 5;
  incumbent.source = "// the program\n";
  incumbent.verdict.set_worker("host7");
  incumbent.verdict.set_noise_band(0.004);
  incumbent.verdict.set_input_seed(42);
  incumbent.verdict.mutable_measured_on()->set_microcode("0x1");
  incumbent.verdict.mutable_measured_on()->add_flags("-O3");
  ASSERT_TRUE(PublishBest(paths, campaign, *problem, incumbent).ok());
  const nlohmann::json json =
      nlohmann::json::parse(*ReadFile(paths.best("matmul_f32") + "/provenance.json"));
  EXPECT_EQ(json["campaign"], "mine");
  EXPECT_EQ(json["campaign_seed"], "18446744073709551615");
  EXPECT_EQ(json["step"], 3);
  EXPECT_EQ(json["rollout"]["sample"], 5);
  EXPECT_EQ(json["host"], "host7");
  EXPECT_EQ(json["microcode"], "0x1");
  EXPECT_EQ(json["flags"][0], "-O3");
  EXPECT_EQ(json["noise_band"], 0.004);
  EXPECT_EQ(json["input_seed"], "42");
  EXPECT_EQ(json["program_sha256"], Sha256Hex(incumbent.source));
}

}  // namespace
}  // namespace whetstone
