#include "coordinator/report/report_samples.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

class ReportSamplesTest : public testing::Test {
 protected:
  // The next sample of step 1; groups 0 and 1 are of problems a and b.
  void Add(int group_index, v1::Outcome outcome, double reward, const std::string& detail) {
    RolloutEntry rollout;
    rollout.step = 1;
    rollout.completion.set_group_index(group_index);
    rollout.completion.set_sample(sample_);
    rollout.completion.set_text(absl::StrCat("text ", sample_));
    VerdictEntry verdict;
    verdict.step = 1;
    verdict.group_index = group_index;
    verdict.sample = sample_++;
    verdict.reward = reward;
    verdict.verdict.set_outcome(outcome);
    verdict.verdict.set_detail(detail);
    ASSERT_TRUE(journal_->Append({rollout, verdict}, 0).ok());
  }

  const TempDir folder_ = *TempDir::Make("samples");
  const CampaignPlan plan_ = MakeTestPlan({});
  std::unique_ptr<Journal> journal_ = *Journal::Create(folder_.path() + "/journal.db", "c");
  int sample_ = 0;
};

TEST_F(ReportSamplesTest, EveryOutcomeHasATypicalOne) {
  Add(0, v1::COMPILE_ERROR, -0.6, "line 3: 'x' was not declared\nmore");
  Add(0, v1::COMPILE_ERROR, -0.6, "line 14: 'x' was not declared\nother");
  Add(0, v1::COMPILE_ERROR, -0.6, "expected ';'");
  for (const double reward : {0.3, 0.9, 0.5}) Add(0, v1::CORRECT, reward, "");
  Add(1, v1::NO_CODE, -1, "the completion holds no ```cpp block");
  const auto picked = PickSamples(plan_, *journal_);
  ASSERT_TRUE(picked.ok()) << picked.status();
  ASSERT_EQ(picked->size(), 2u);
  const ProblemSamples& a = picked->at("a");
  EXPECT_EQ(a.verdicts, 6);
  ASSERT_EQ(a.outcomes.size(), 2u);
  for (const OutcomeSample& outcome : a.outcomes) {
    EXPECT_EQ(outcome.count, 3);
    if (outcome.outcome == v1::CORRECT) {
      EXPECT_EQ(outcome.typical.judged.reward, 0.5) << "the median";
    } else {
      EXPECT_EQ(outcome.alike, 2) << "but for the line's number";
      EXPECT_EQ(outcome.typical.judged.sample, 1) << "the newest of them";
      EXPECT_EQ(outcome.typical.completion.text(), "text 1");
    }
  }
  ASSERT_TRUE(a.best.has_value());
  EXPECT_EQ(a.best->judged.reward, 0.9);
  EXPECT_EQ(a.best->completion.text(), "text 4");
  const ProblemSamples& b = picked->at("b");
  EXPECT_EQ(b.outcomes.at(0).outcome, v1::NO_CODE);
  EXPECT_FALSE(b.best.has_value());
}

TEST_F(ReportSamplesTest, ARunWithoutVerdictsHasNone) {
  const auto picked = PickSamples(plan_, *journal_);
  ASSERT_TRUE(picked.ok()) << picked.status();
  EXPECT_TRUE(picked->empty());
}

}  // namespace
}  // namespace whetstone
