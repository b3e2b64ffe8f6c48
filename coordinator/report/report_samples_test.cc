#include "coordinator/report/report_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ReportSamplesTest : public testing::Test {
 protected:
  // The next sample of step 1; groups 0 and 1 are of problems a and b.
  void Add(int group_index, v1::Outcome outcome, double reward, const std::string& detail) {
    RolloutEntry rollout;
    rollout.step = 1;
    rollout.completion.set_group_index(group_index);
    rollout.completion.set_sample(sample_);
    rollout.completion.set_text(
        absl::StrCat("text ", sample_, "\n```cpp\nint x = ", sample_, ";\n```\n"));
    VerdictEntry verdict;
    verdict.step = 1;
    verdict.group_index = group_index;
    verdict.sample = sample_++;
    verdict.reward = reward;
    verdict.verdict.set_outcome(outcome);
    verdict.verdict.set_detail(detail);
    verdict.verdict.set_timed(outcome == v1::CORRECT);
    verdict.verdict.set_speedup(10 * reward);
    verdict.dropped = outcome == v1::INFRASTRUCTURE_ERROR;
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
      EXPECT_THAT(outcome.typical.completion.text(), StartsWith("text 1\n"));
    }
  }
  ASSERT_TRUE(a.best.has_value());
  EXPECT_EQ(a.best->judged.reward, 0.9);
  EXPECT_THAT(a.best->completion.text(), StartsWith("text 4\n"));
  EXPECT_THAT(a.best->from_reference, HasSubstr("\n+int x = 4;\n"));
  ASSERT_TRUE(a.worst.has_value());
  EXPECT_EQ(a.worst->judged.sample, 2) << "the newest of equals";
  EXPECT_THAT(a.speedups, ElementsAre(DoubleEq(3), DoubleEq(5), DoubleEq(9)));
  const ProblemSamples& b = picked->at("b");
  EXPECT_EQ(b.outcomes.at(0).outcome, v1::NO_CODE);
  EXPECT_FALSE(b.best.has_value());
  EXPECT_EQ(b.worst->judged.reward, -1);
  EXPECT_TRUE(std::isnan(b.speedups[1]));
}

TEST_F(ReportSamplesTest, WhatWasDroppedIsNotTheWorst) {
  Add(0, v1::INFRASTRUCTURE_ERROR, -2, "the worker was lost");
  EXPECT_FALSE(PickSamples(plan_, *journal_)->at("a").worst.has_value());
  for (const double reward : {0.1, 0.2, 0.3, 0.4, 0.5}) Add(0, v1::CORRECT, reward, "");
  const auto picked = PickSamples(plan_, *journal_);
  ASSERT_TRUE(picked.ok()) << picked.status();
  EXPECT_EQ(picked->at("a").worst->judged.reward, 0.1);
  EXPECT_EQ(picked->at("a").verdicts, 6);
  EXPECT_THAT(picked->at("a").speedups, ElementsAre(DoubleEq(2), DoubleEq(3), DoubleEq(4)));
}

TEST_F(ReportSamplesTest, ARunWithoutVerdictsHasNone) {
  const auto picked = PickSamples(plan_, *journal_);
  ASSERT_TRUE(picked.ok()) << picked.status();
  EXPECT_TRUE(picked->empty());
}

}  // namespace
}  // namespace whetstone
