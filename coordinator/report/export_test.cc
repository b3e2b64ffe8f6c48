#include "coordinator/report/export.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/file.h"
#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

class ExportTest : public testing::Test {
 protected:
  void Add(int64_t step, int sample, float logprob) {
    RolloutEntry rollout;
    rollout.step = step;
    rollout.completion.set_sample(sample);
    rollout.completion.set_text("<a> \"ü\"\n");
    rollout.completion.set_finish(v1::Completion::STOP);
    rollout.completion.add_ids(7);
    rollout.completion.add_sampling_logprobs(logprob);
    VerdictEntry verdict;
    verdict.step = step;
    verdict.sample = sample;
    verdict.reward = 0.5;
    verdict.dropped = true;
    verdict.verdict.set_outcome(v1::CRASH);
    ASSERT_TRUE(journal_->Append({rollout, verdict}, 0).ok());
  }
  absl::StatusOr<ExportCounts> Export() const {
    return ExportRun(plan_, *journal_, out_, [](const ExportCounts&) {});
  }
  std::vector<nlohmann::json> Rows(const std::string& name) const {
    std::vector<nlohmann::json> rows;
    const std::string text = *ReadFile(out_ + "/" + name);
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      rows.push_back(nlohmann::json::parse(std::string(line)));
    }
    return rows;
  }

  const TempDir folder_ = *TempDir::Make("export");
  const std::string out_ = folder_.path() + "/out/deeper";
  const CampaignPlan plan_ = MakeTestPlan({.sets = {"eval.problems=[/v.md]"}});
  std::unique_ptr<Journal> journal_ = *Journal::Create(folder_.path() + "/journal.db", "c");
};

TEST_F(ExportTest, RowsNameTheirRollout) {
  Add(-2, 1, -0.5);
  Add(1, 3, -std::numeric_limits<float>::infinity());
  const auto counts = Export();
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->rollouts, 2);
  EXPECT_EQ(counts->verdicts, 2);
  EXPECT_EQ(counts->metrics, 0);
  const std::vector<nlohmann::json> rollouts = Rows("rollouts.jsonl");
  ASSERT_EQ(rollouts.size(), 2u);
  EXPECT_EQ(rollouts[0].dump(),
            R"({"evaluation":true,"finish":"STOP","group":0,"ids":[7],"logprobs":[-0.5],)"
            R"("problem":"v","rollout":"eval-2/0/1","sample":1,"step":2,)"
            R"("text":"<a> \"ü\"\n","tokens":1})");
  EXPECT_EQ(rollouts[1]["rollout"], "1/0/3");
  EXPECT_EQ(rollouts[1]["problem"], "a");
  EXPECT_EQ(rollouts[1]["logprobs"].dump(), "[null]");
  const std::vector<nlohmann::json> verdicts = Rows("verdicts.jsonl");
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[1]["rollout"], "1/0/3");
  EXPECT_EQ(verdicts[1]["outcome"], "CRASH");
  EXPECT_EQ(verdicts[1]["reward"], 0.5);
  EXPECT_EQ(verdicts[1]["dropped"], true);
  EXPECT_TRUE(Rows("metrics.jsonl").empty());

  // What was there before is replaced.
  Add(1, 2, -1);
  ASSERT_TRUE(Export().ok());
  EXPECT_EQ(Rows("rollouts.jsonl").size(), 3u);
  EXPECT_FALSE(std::filesystem::exists(out_ + "/rollouts.jsonl.part"));
}

TEST_F(ExportTest, WhatCannotBeWrittenIsSaid) {
  Add(1, 0, -1);
  ASSERT_TRUE(MakeDirectories(out_ + "/verdicts.jsonl.part").ok());  // in the file's place
  const auto counts = Export();
  ASSERT_FALSE(counts.ok());
  EXPECT_NE(counts.status().message().find("cannot write " + out_ + "/verdicts.jsonl.part"),
            std::string::npos)
      << counts.status();
  EXPECT_FALSE(std::filesystem::exists(out_ + "/rollouts.jsonl")) << "all or none";
}

}  // namespace
}  // namespace whetstone
