#include "coordinator/journal/run_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "common/tree_testing.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/durable/checkpoint_retention.h"
#include "coordinator/durable/request_builders.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/create_run.h"
#include "coordinator/journal/open_run.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::StartsWith;

// A run that has saved its warm-up and its first two steps below /shared, and keeps one checkpoint.
class RunIdentityTest : public testing::Test {
 protected:
  void SetUp() override {
    const v1::Campaign campaign = *ParseCampaign(
        absl::StrCat("name: mine\nmodel: /none\nproblems: [", SourceDir(),
                     "/prompts/matmul_f32.md]\nwarmup: {examples: ", SourceDir(),
                     "/prompts/warmup.jsonl, nearest: 8}\ntrain: {kl_beta: 0.1}\n"
                     "checkpoint: {dir: /shared, every: 1, keep: 1, keep_best: false}\n"),
        "test", "/", {});
    const CampaignPlan plan = *BuildPlan(campaign, "mine-01234567", "/shared/mine-01234567");
    ASSERT_EQ(plan.warmup_updates(), 1);
    const auto run = CreateRun(plan, Path("run"));
    ASSERT_TRUE(run.ok()) << run.status();
    for (int64_t position = 1; position <= 3; ++position) {
      const CheckpointEntry checkpoint{plan.NameOf(position), plan.CheckpointPath(position), "c0",
                                       1};
      ASSERT_TRUE(run->journal->Append({UpdateEntry{plan.NameOf(position)}, checkpoint}, 1).ok());
    }
  }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  static OpenedRun Open(const std::string& root, bool read_only = false) {
    absl::StatusOr<OpenedRun> run = OpenRun(RunPaths(root), read_only);
    EXPECT_TRUE(run.ok()) << run.status();
    return *std::move(run);
  }
  static std::vector<std::string> Obsolete(const OpenedRun& run) {
    return ObsoleteCheckpoints(run.plan, *run.journal->Restore(run.plan));
  }

  const TempDir folder_ = *TempDir::Make("run");
};

TEST_F(RunIdentityTest, ARunThatWasMovedIsTheSame) {
  EXPECT_EQ(Open(Path("run")).plan.campaign_id, "mine-01234567");
  fs::rename(Path("run"), Path("moved"));
  const OpenedRun moved = Open(Path("moved"));
  EXPECT_EQ(moved.was_copy_of, "");
  EXPECT_EQ(moved.plan.campaign_id, "mine-01234567");
  EXPECT_THAT(Obsolete(moved), ElementsAre("/shared/mine-01234567/step-1"));
}

TEST_F(RunIdentityTest, ACopyIsACampaignOfItsOwnAndLeavesTheOriginalsCheckpoints) {
  fs::copy(Path("run"), Path("copy"), fs::copy_options::recursive);
  EXPECT_EQ(Open(Path("copy"), /*read_only=*/true).plan.campaign_id, "mine-01234567")
      << "looking at it changes nothing";
  const OpenedRun copy = Open(Path("copy"));
  const std::string id = copy.plan.campaign_id;
  EXPECT_THAT(id, StartsWith("mine-"));
  EXPECT_NE(id, "mine-01234567");
  EXPECT_EQ(copy.was_copy_of, "mine-01234567");
  EXPECT_EQ(copy.plan.CheckpointPath(4), absl::StrCat("/shared/", id, "/step-3"));
  EXPECT_THAT(Obsolete(copy), ElementsAre());
  // It learns from the same reference, which lies where the original saved it.
  const OpenedRun original = Open(Path("run"));
  EXPECT_EQ(copy.plan.ReferencePath(), "/shared/mine-01234567/warmup");
  EXPECT_EQ(original.plan.ReferencePath(), "/shared/mine-01234567/warmup");
  v1::UpdateRequest request;
  request.mutable_grpo()->mutable_settings()->set_kl_reference(copy.plan.ReferencePath());
  EXPECT_EQ(RequestHash(copy.plan, request), RequestHash(original.plan, request));

  const OpenedRun again = Open(Path("copy"));
  EXPECT_EQ(again.was_copy_of, "");
  EXPECT_EQ(again.plan.campaign_id, id);
  EXPECT_EQ(again.journal->Fact("origin"), "a copy of mine-01234567");
  EXPECT_EQ(original.plan.campaign_id, "mine-01234567");
}

// Not every host can tell when a directory on a network file system was born.
TEST_F(RunIdentityTest, WhatAHostCanNotTellIsNotCompared) {
  EXPECT_TRUE(MayBeOneDirectory("12", "12"));
  EXPECT_TRUE(MayBeOneDirectory("12", "12 born 3.000000000"));
  EXPECT_TRUE(MayBeOneDirectory("12 born 3.000000000", "12"));
  EXPECT_FALSE(MayBeOneDirectory("12 born 3.000000000", "12 born 4.000000000"));
  EXPECT_FALSE(MayBeOneDirectory("123 born 3.000000000", "12"));
  EXPECT_FALSE(MayBeOneDirectory("12", "13"));
  const std::string mark = *DirectoryMark(Path("run"));
  const std::string number = mark.substr(0, mark.find(' '));
  ASSERT_TRUE(Open(Path("run")).journal->SetFacts({{"directory", number}}).ok());
  const OpenedRun run = Open(Path("run"));
  EXPECT_EQ(run.was_copy_of, "");
  EXPECT_EQ(run.journal->Fact("directory"), mark) << "it says as much as this host can tell";
}

TEST_F(RunIdentityTest, ACopyOfARunThatSavedWithoutAFolderOfItsOwnGetsOne) {
  const std::string old = Path("old");
  const auto campaign =
      *ParseCampaign(absl::StrCat("name: mine\nmodel: /none\nproblems: [", SourceDir(),
                                  "/prompts/matmul_f32.md]\ncheckpoint: {dir: /shared}\n"),
                     "test", "/", {});
  const CampaignPlan plan = *BuildPlan(campaign, "mine-76543210", "/shared");
  {
    const auto run = *CreateRun(plan, old);
    ASSERT_TRUE(
        run.journal->Append({CheckpointEntry{plan.NameOf(1), "/shared/step-1", "c0", 1}}, 1).ok());
  }
  EXPECT_EQ(Open(old).plan.checkpoint_dir, "/shared");
  fs::copy(old, Path("copy"), fs::copy_options::recursive);
  for (int i = 0; i < 2; ++i) {
    const OpenedRun copy = Open(Path("copy"));
    EXPECT_EQ(copy.plan.checkpoint_dir, "/shared/" + copy.plan.campaign_id);
  }
}

}  // namespace
}  // namespace whetstone
