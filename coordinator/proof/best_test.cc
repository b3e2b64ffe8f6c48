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

// A problem's stand-alone benchmark compiles and finds its expert right and as fast as recorded;
// and, for one problem, the reference in its place too slow, and an empty body wrong.
class StandaloneTest : public testing::TestWithParam<std::string> {};

TEST_P(StandaloneTest, ProvesTheExpertAndRefusesOthers) {
  const absl::StatusOr<std::string> text =
      ReadFile(absl::StrCat(SourceDir(), "/prompts/", GetParam()));
  ASSERT_TRUE(text.ok()) << text.status();
  // A problem's structs may be named like what the benchmark uses itself.
  const absl::StatusOr<v1::Problem> problem =
      ParsePrompt(absl::StrReplaceAll(*text, {{"Box", "Buffer"}, {"Overlap", "Data"}}), GetParam());
  ASSERT_TRUE(problem.ok()) << problem.status();
  const TempDir folder = *TempDir::Make("best");
  v1::Verdict verdict;
  verdict.set_outcome(v1::CORRECT);
  verdict.set_timed(true);
  verdict.set_speedup(6);
  // The interval is so wide that any machine, however busy, is inside.
  verdict.set_speedup_low(1.6);
  verdict.set_speedup_high(100);
  const auto run = [&](const std::string& source) {
    EXPECT_TRUE(WriteProof(folder.path() + "/proof", *problem, source, verdict,
                           nlohmann::ordered_json::object())
                    .ok());
    const int status =
        std::system(absl::StrCat("sh ", folder.path(), "/proof/run.sh --benchmark_repetitions=5 > ",
                                 folder.path(), "/out 2>&1")
                        .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const auto out = [&] { return *ReadFile(folder.path() + "/out"); };
  EXPECT_EQ(run(problem->expert()), 0) << out();
  EXPECT_NE(out().find("\nCONFIRMED"), std::string::npos) << out();
  if (problem->id() != "partition_i32") return;  // each build takes seconds
  EXPECT_EQ(run(problem->reference()), 1) << out();
  EXPECT_NE(out().find("\nNOT CONFIRMED"), std::string::npos) << out();
  const std::string empty =
      absl::StrCat(problem->signature(), problem->has_returns() ? " { return {}; }\n" : " {}\n");
  EXPECT_EQ(run(empty), 3) << "an empty body must be found wrong; " << out();
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
