#include "coordinator/journal/fork_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/create_run.h"
#include "coordinator/journal/open_run.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// A run that has saved its warm-up and both its steps.
class ForkRunTest : public testing::Test {
 protected:
  void SetUp() override {
    const v1::Campaign campaign =
        *ParseCampaign(absl::StrCat("name: mine\nmodel: /none\nproblems: [", SourceDir(),
                                    "/prompts/matmul_f32.md]\nwarmup: {examples: ", SourceDir(),
                                    "/prompts/warmup.jsonl, nearest: 8}\n"
                                    "train: {kl_beta: 0.1, steps: 2}\ncheckpoint: {every: 1}\n"),
                       "test", "/", {});
    const CampaignPlan plan = *BuildPlan(campaign, "mine-01234567", run_.checkpoints());
    const auto run = CreateRun(plan, run_.root());
    ASSERT_TRUE(run.ok()) << run.status();
    for (int64_t position = 1; position <= 3; ++position) {
      const std::string path = plan.CheckpointPath(position);
      ASSERT_TRUE(MakeDirectories(path + "/resume").ok());
      ASSERT_TRUE(WriteFileAtomically(path + "/resume/state", path).ok());
      ASSERT_TRUE(run->journal
                      ->Append({UpdateEntry{plan.NameOf(position)},
                                CheckpointEntry{plan.NameOf(position), path, "c0", 1}},
                               1)
                      .ok());
    }
  }
  static OpenedRun Open(const RunPaths& paths) {
    absl::StatusOr<OpenedRun> run = OpenRun(paths, /*read_only=*/false);
    EXPECT_TRUE(run.ok()) << run.status();
    return *std::move(run);
  }

  const TempDir folder_ = *TempDir::Make("fork");
  const RunPaths run_{folder_.path() + "/run"};
  const RunPaths fork_{folder_.path() + "/fork"};
};

TEST_F(ForkRunTest, GoesOnFromTheCheckpointWithOtherSettings) {
  const auto origin =
      ForkRun(run_, {.step = 1, .sets = {"train.lr=2e-6", "train.steps=9"}}, fork_.root());
  ASSERT_TRUE(origin.ok()) << origin.status();
  EXPECT_EQ(*origin, "a fork of mine-01234567 at step 1");
  const OpenedRun fork = Open(fork_);
  EXPECT_EQ(fork.was_copy_of, "");
  EXPECT_NE(fork.plan.campaign_id, "mine-01234567");
  EXPECT_EQ(fork.journal->Fact("origin"), *origin);
  const auto state = fork.journal->Restore(fork.plan);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->step(), 2);
  ASSERT_EQ(state->checkpoints().size(), 2u);
  const std::string newest = state->checkpoints().back().path;
  EXPECT_EQ(newest, fork_.checkpoints() + "/step-1");
  EXPECT_EQ(*ReadFile(newest + "/resume/state"), run_.checkpoints() + "/step-1");
  EXPECT_TRUE(fs::exists(fork.plan.ReferencePath())) << "of the KL penalty";
  EXPECT_FALSE(fs::exists(fork_.checkpoints() + "/step-2"));
  EXPECT_EQ(fork.plan.updates(), 10);
  EXPECT_EQ(fork.plan.LearningRateAt(2), 1e-5) << "step 1 was the original's";
  EXPECT_EQ(fork.plan.LearningRateAt(3), 2e-6);

  const OpenedRun original = Open(run_);
  EXPECT_EQ(original.plan.campaign_id, "mine-01234567");
  EXPECT_TRUE(original.journal->Restore(original.plan)->done());
}

TEST_F(ForkRunTest, TakesTheNewestCheckpointOrThatOfTheWarmup) {
  ASSERT_TRUE(ForkRun(run_, {.sets = {"train.steps=3"}}, fork_.root()).ok());
  OpenedRun fork = Open(fork_);
  EXPECT_EQ(fork.journal->Restore(fork.plan)->step(), 3);
  const RunPaths second(folder_.path() + "/second");
  ASSERT_TRUE(ForkRun(run_, {.step = 0}, second.root()).ok());
  fork = Open(second);
  EXPECT_EQ(fork.journal->Restore(fork.plan)->step(), 1);
}

// As shells complete the names of directories.
TEST_F(ForkRunTest, NamesMayEndInASlash) {
  const auto origin = ForkRun(RunPaths(run_.root() + "/"), {.step = 2}, fork_.root() + "/");
  ASSERT_TRUE(origin.ok()) << origin.status();
  const OpenedRun fork = Open(fork_);
  const std::string newest = fork.journal->Restore(fork.plan)->checkpoints().back().path;
  EXPECT_EQ(newest, fork_.checkpoints() + "/step-2");
  EXPECT_EQ(*ReadFile(newest + "/resume/state"), run_.checkpoints() + "/step-2");
  EXPECT_TRUE(fs::exists(fork.plan.ReferencePath()));
}

TEST_F(ForkRunTest, IsThereWholeOrNotAtAll) {
  const auto refused = [&](const ForkOptions& options) {
    const absl::Status status = ForkRun(run_, options, fork_.root()).status();
    EXPECT_FALSE(fs::exists(fork_.root()));
    EXPECT_FALSE(fs::exists(fork_.root() + ".part"));
    return std::string(status.message());
  };
  EXPECT_EQ(refused({.step = 7}),
            "mine-01234567 saved no such checkpoint; there are: step 2, step 1, warm-up 1");
  EXPECT_THAT(refused({.step = 1, .sets = {"seed=3"}}), HasSubstr("'seed'"));
  for (int parts = 0; parts < 5; ++parts) {
    const auto stopped = [left = parts]() mutable { return left-- == 0; };
    EXPECT_THAT(refused({.stopped = stopped}), HasSubstr("stopped")) << parts;
  }
  fs::remove_all(run_.checkpoints() + "/step-1");
  EXPECT_THAT(
      refused({.step = 1}),
      AllOf(HasSubstr("cannot copy " + run_.checkpoints() + "/step-1"), HasSubstr("No such file")));
  // What a fork that was killed left behind is in nobody's way.
  ASSERT_TRUE(MakeDirectories(fork_.checkpoints() + "/x").ok());
  fs::rename(fork_.root(), fork_.root() + ".part");
  EXPECT_TRUE(ForkRun(run_, {}, fork_.root()).ok());
  EXPECT_FALSE(fs::exists(fork_.checkpoints() + "/x"));
  EXPECT_EQ(ForkRun(run_, {}, fork_.root()).status().code(), absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace whetstone
