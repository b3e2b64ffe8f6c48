// The central claim: the small real model, warmed up on examples that contain no faster program of
// the problem, learns by GRPO to write one. This is the campaign of deploy/quickstart.sh, as far as
// it takes to tell.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/tree_testing.h"
#include "gpu_trainer/kernels/cpu/cpu.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {
namespace {

// Three minutes on two quiet cores.
constexpr std::chrono::seconds kPatience{1200};

class LearningTest : public WhetTest {};

TEST_F(LearningTest, TheQuickstartLearnsAFasterProgram) {
  if (!MultipliesBf16()) {
    GTEST_SKIP() << "this processor has no AVX-512: the campaign would take ten minutes";
  }
  const WhetResult run =
      Whet({"run", SourceDir() + "/deploy/quickstart.yaml", "--run-dir", RunDirectory(), "--set",
            "model=" + SmallModel(), "--set", "train.steps=10"},
           kPatience);
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;

  std::vector<double> rewards;
  for (const nlohmann::json& row : Metrics()) {
    if (row["phase"] == "grpo") rewards.push_back(row["reward"]);
  }
  const std::string curve = absl::StrJoin(rewards, " ");
  ASSERT_GT(rewards.size(), 6u) << curve;
  const double last_three = std::accumulate(rewards.end() - 3, rewards.end(), 0.0) / 3;
  // The first step's rollouts are those of the policy that GRPO began with.
  EXPECT_GE(last_three, 0.9) << curve;
  EXPECT_GT(last_three, rewards.front()) << curve;

  const WhetResult best = Whet({"best", RunDirectory(), "--verify", "--json"}, kPatience);
  EXPECT_EQ(best.exit_code, 0) << best.out << best.err;
  ASSERT_TRUE(best.json().is_object()) << best.out << best.err;
  const nlohmann::json programs = best.json()["best"];
  ASSERT_EQ(programs.size(), 1u) << best.out;
  EXPECT_EQ(programs[0]["problem"], "matmul_f32");
  EXPECT_GT(programs[0]["speedup"].get<double>(), 1.5) << best.out;
  EXPECT_EQ(programs[0]["verification"]["confirmed"], true) << best.out;
  RecordProperty("rewards", curve);
}

}  // namespace
}  // namespace whetstone
