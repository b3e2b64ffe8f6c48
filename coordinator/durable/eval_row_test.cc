#include "coordinator/durable/eval_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace whetstone {
namespace {

void Judge(v1::Outcome outcome, double speedup, double reward, CandidateRecord* record) {
  record->completion.emplace().add_ids(7);
  record->completion->set_finish(v1::Completion::STOP);
  VerdictEntry& entry = record->verdict.emplace();
  entry.verdict.set_outcome(outcome);
  entry.verdict.set_speedup(speedup);
  entry.reward = reward;
  entry.dropped = outcome == v1::INFRASTRUCTURE_ERROR;
}

TEST(EvalRowTest, CountsWhatIsRightAndWhatIsFast) {
  StepRecord evaluation(-10, 2, 4);
  std::vector<CandidateRecord>& first = evaluation.groups[0].samples;
  Judge(v1::CORRECT, 4, 1.2, &first[0]);
  Judge(v1::CORRECT, 1.5, 0.8, &first[1]);
  Judge(v1::INFRASTRUCTURE_ERROR, 90, 0, &first[2]);
  Judge(v1::NO_CODE, 0, -1, &first[3]);
  std::vector<CandidateRecord>& second = evaluation.groups[1].samples;
  Judge(v1::CORRECT, 0.25, 0.1, &second[0]);
  Judge(v1::COMPILE_ERROR, 0, -0.6, &second[1]);
  Judge(v1::WRONG_ANSWER, 9, -0.1, &second[2]);
  Judge(v1::WRONG_ANSWER, 0, -0.1, &second[3]);
  first[3].completion->add_ids(8);
  first[3].completion->set_finish(v1::Completion::LENGTH);
  StepTimes times;
  times.step = 24;
  const std::map<std::string, double> row = BuildEvalRow(evaluation, times);
  EXPECT_DOUBLE_EQ(row.at("eval/correct"), 3.0 / 8);
  EXPECT_DOUBLE_EQ(row.at("eval/fast_1.5"), 2.0 / 8) << "wrong and dropped programs are not fast";
  EXPECT_DOUBLE_EQ(row.at("eval/best"), std::sqrt(4.0 * 1)) << "slower than the reference is 1";
  EXPECT_NEAR(row.at("eval/reward"), (1.2 + 0.8 - 1 + 0.1 - 0.6 - 0.1 - 0.1) / 7, 1e-12);
  EXPECT_DOUBLE_EQ(row.at("eval/dropped"), 1.0 / 8);
  EXPECT_DOUBLE_EQ(row.at("eval/mean_length"), 9.0 / 8);
  EXPECT_DOUBLE_EQ(row.at("eval/clipped_ratio"), 1.0 / 8);
  EXPECT_EQ(row.at("eval/samples"), 8);
  double shares = 0;
  for (const auto& [key, value] : row) {
    EXPECT_EQ(key.rfind("eval/", 0), 0u) << key << " would lie on a curve of training";
    if (key.rfind("eval/outcome/", 0) == 0) shares += value;
  }
  EXPECT_DOUBLE_EQ(shares, 1);
  EXPECT_THAT(EvalLine(StepName(-10), row),
              testing::HasSubstr("evaluation at step 10  reward  0.043  correct 38%, at least 1.5x "
                                 "25%, best 2.00x  24.0 s"));
}

TEST(EvalRowTest, WithoutAnyRewardThereIsNoMean) {
  StepRecord evaluation(0, 1, 1);
  Judge(v1::INFRASTRUCTURE_ERROR, 90, 0, &evaluation.groups[0].samples[0]);
  EXPECT_EQ(BuildEvalRow(evaluation, {}).count("eval/reward"), 0u);
}

}  // namespace
}  // namespace whetstone
