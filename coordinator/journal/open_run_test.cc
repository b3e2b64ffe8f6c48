#include "coordinator/journal/open_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "common/tree_testing.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/journal/campaign_setup.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

TEST(OpenRunTest, JournalAndCampaignBelongTogether) {
  const TempDir folder = *TempDir::Make("run");
  const RunPaths paths(folder.path());
  v1::Campaign campaign = *ParseCampaign(absl::StrCat("name: mine\nmodel: /none\nproblems: [",
                                                      SourceDir(), "/prompts/matmul_f32.md]\n"),
                                         "test", "/", {});
  ASSERT_TRUE(FreezeCampaign(campaign, paths).ok());
  ASSERT_TRUE(Journal::Create(paths.journal(), "mine-01234567").ok());
  const auto run = OpenRun(paths, /*read_only=*/false);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->plan.campaign_id, "mine-01234567");
  campaign.set_name("yours");
  ASSERT_TRUE(FreezeCampaign(campaign, paths).ok());
  EXPECT_EQ(OpenRun(paths, /*read_only=*/true).status().code(), absl::StatusCode::kDataLoss);
}

// The plan of a campaign that evaluates `file` and says `more`.
absl::StatusOr<CampaignPlan> PlanOf(const std::string& file, const std::string& more,
                                    const RunPaths* frozen = nullptr) {
  const std::string text =
      absl::StrCat("name: mine\nmodel: /none\n", more, "eval: {problems: [", file, "]}\n");
  ASSIGN_OR_RETURN(const v1::Campaign campaign, ParseCampaign(text, "c.yaml", "/", {}));
  if (frozen != nullptr) RETURN_IF_ERROR(FreezeCampaign(campaign, *frozen));
  return BuildPlan(campaign, "mine-1", "/c");
}

TEST(OpenRunTest, OnlyValidProblemsAreEvaluatedInACampaignThatLearns) {
  const TempDir folder = *TempDir::Make("run");
  const std::string prompts = SourceDir() + "/prompts/", valid = folder.path() + "/valid.md";
  const std::string held_out = *ReadFile(prompts + "test/moments_f64.md");
  ASSERT_TRUE(
      WriteFileAtomically(valid, absl::StrReplaceAll(held_out, {{"split: test", "split: valid"}}))
          .ok());
  const std::string learned = absl::StrCat("problems: [", prompts, "matmul_f32.md]\n");
  const auto plan = PlanOf(valid, learned);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->learned().size(), 1u);
  ASSERT_EQ(plan->evaluated().size(), 1u);
  EXPECT_EQ(plan->ProblemOf(1, 0).problem.id(), "matmul_f32");
  EXPECT_EQ(plan->ProblemOf(-10, 0).problem.id(), "moments_f64");
  const auto refused = [&](const std::string& file) {
    return std::string(PlanOf(prompts + file, learned).status().message());
  };
  EXPECT_THAT(refused("test/moments_f64.md"),
              HasSubstr("moments_f64.md is kept for final figures (split: test)"));
  EXPECT_THAT(refused("dot_f32.md"), HasSubstr("dot_f32.md is a training problem (split: train)"));
  EXPECT_THAT(refused("matmul_f32.md"), HasSubstr("'eval.problems[0]' names"));
  for (const std::string& any : {valid, prompts + "dot_f32.md", prompts + "test/moments_f64.md"}) {
    const auto nothing_learned = PlanOf(any, "train: {steps: 0}\n");
    ASSERT_TRUE(nothing_learned.ok()) << nothing_learned.status();
    EXPECT_TRUE(nothing_learned->learned().empty());
    EXPECT_TRUE(nothing_learned->EvaluationDue(0));
  }
}

TEST(OpenRunTest, AFrozenCampaignEvaluatesItsCopies) {
  const TempDir folder = *TempDir::Make("run");
  const RunPaths paths(folder.path());
  ASSERT_TRUE(
      PlanOf(SourceDir() + "/prompts/test/moments_f64.md", "train: {steps: 0}\n", &paths).ok());
  ASSERT_TRUE(Journal::Create(paths.journal(), "mine-01234567").ok());
  const auto run = OpenRun(paths, /*read_only=*/true);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->plan.campaign.eval().problems(0), paths.inputs() + "/eval-0-moments_f64.md");
  EXPECT_EQ(run->plan.FileOf(0), run->plan.campaign.eval().problems(0));
  EXPECT_EQ(run->plan.evaluated()[0].problem.id(), "moments_f64");
}

}  // namespace
}  // namespace whetstone
