#include "coordinator/trace/rollout_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "coordinator/durable/campaign_plan_testing.h"
#include "coordinator/trace/trace_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kBegin = 1'790'000'000'000'000;
constexpr int64_t kClockAhead = 3'600'000'000;  // of the worker's host

// A run whose times are chosen: seconds since kBegin.
class RolloutTraceTest : public testing::Test {
 protected:
  static int64_t Us(double seconds) { return kBegin + static_cast<int64_t>(1e6 * seconds + 0.5); }
  void At(double seconds, const std::vector<JournalEntry>& entries) {
    ASSERT_TRUE(journal_->Append(entries, Us(seconds)).ok());
  }
  static JournalEntry Prompt(int64_t step, int group_index) {
    PromptEntry entry{step, {}};
    entry.prompt.set_group_index(group_index);
    return entry;
  }
  static JournalEntry Rollout(int64_t step, int group_index, int sample, int tokens = 5) {
    RolloutEntry entry{step, {}};
    entry.completion.set_group_index(group_index);
    entry.completion.set_sample(sample);
    entry.completion.set_tokens(tokens);
    entry.completion.set_finish(v1::Completion::STOP);
    return entry;
  }
  static VerdictEntry Judged(int64_t step, int group_index, int sample, v1::Outcome outcome) {
    VerdictEntry entry;
    entry.step = step;
    entry.group_index = group_index;
    entry.sample = sample;
    entry.reward = 0.25;
    entry.verdict.set_outcome(outcome);
    entry.verdict.set_worker("coordinator");
    return entry;
  }
  // A verdict of slot `slot` of a worker whose clock is ahead; the stages lasted as long as was
  // given, and began then.
  static VerdictEntry Timed(int64_t step, int group_index, int sample, int slot,
                            std::pair<double, double> build, std::pair<double, double> check,
                            std::pair<double, double> time) {
    VerdictEntry entry = Judged(step, group_index, sample, v1::CORRECT);
    v1::Verdict& v = entry.verdict;
    v.set_worker("cpu01");
    v.set_timed(true);
    v.set_speedup(2);
    v.set_compile_s(build.second);
    v.set_screen_s(build.second / 2);
    v.set_check_s(check.second);
    v.set_time_s(time.second);
    v1::StageTimes* const stages = v.mutable_stage_times();
    stages->set_build_us(Us(build.first) + kClockAhead);
    stages->set_check_us(Us(check.first) + kClockAhead);
    stages->set_time_us(Us(time.first) + kClockAhead);
    stages->set_reached_us(Us(time.first + time.second) + kClockAhead);
    stages->set_check_slot(slot);
    stages->set_time_slot(slot);
    return entry;
  }
  static JournalEntry Update(v1::UpdateName::Phase phase, int64_t step, double update_s,
                             double step_s) {
    UpdateEntry entry;
    entry.name.set_phase(phase);
    entry.name.set_step(step);
    entry.response.set_applied(true);
    entry.row = {{"time/update", update_s}, {"time/step", step_s}, {"loss", 0.5}};
    return entry;
  }
  static JournalEntry Saved(v1::UpdateName::Phase phase, int64_t step) {
    CheckpointEntry entry;
    entry.name.set_phase(phase);
    entry.name.set_step(step);
    entry.path = "/ckpt";
    return entry;
  }
  // One step of a group of three: one right, one without code, one a copy of the first.
  void OneStep() {
    At(0, {StartEntry{}});
    At(2, {LoadEntry{}});
    At(4, {Update(v1::UpdateName::WARMUP, 1, 1.5, 4)});
    At(5, {Saved(v1::UpdateName::WARMUP, 1)});
    At(5.5, {Prompt(1, 0)});
    At(7, {Rollout(1, 0, 0, 11), Rollout(1, 0, 1)});
    At(7, {Judged(1, 0, 1, v1::NO_CODE)});
    At(8.5, {Rollout(1, 0, 2)});
    VerdictEntry copy = Judged(1, 0, 2, v1::CORRECT);
    copy.verdict.set_cached(true);
    copy.dropped = true;
    At(12, {Timed(1, 0, 0, 1, {7.25, 0.5}, {8, 0.25}, {9, 3}), copy});
    At(14, {Update(v1::UpdateName::GRPO, 1, 1.75, 10)});
    At(15, {Saved(v1::UpdateName::GRPO, 1)});
    At(16, {Prompt(2, 0)});
  }
  ReadTrace Trace(int64_t first, int64_t last) {
    const auto counts =
        TraceSteps(plan_, *journal_, {first, last}, path_, [](const TraceCounts&) {});
    EXPECT_TRUE(counts.ok()) << counts.status();
    if (!counts.ok()) return {};
    counts_ = *counts;
    ReadTrace trace = ParseTrace(*ReadFile(path_));
    EXPECT_THAT(trace.problems, IsEmpty());
    EXPECT_EQ(trace.spans.size(), static_cast<size_t>(counts_.spans));
    return trace;
  }
  static std::string Text(const std::vector<ReadTrace::Span>& spans) {
    std::string text;
    for (const ReadTrace::Span& span : spans) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", span.name, " ",
                      static_cast<double>(span.begin_us - kBegin) / 1e6, "-",
                      static_cast<double>(span.end_us - kBegin) / 1e6);
    }
    return text;
  }

  const TempDir folder_ = *TempDir::Make("trace");
  const std::string path_ = folder_.path() + "/trace.json";
  const CampaignPlan plan_ = MakeTestPlan({.steps = 4,
                                           .warmup = 1,
                                           .group_size = 3,
                                           .prompts_per_step = 1,
                                           .sets = {"eval.problems=[/v.md]", "eval.samples=1"}});
  std::unique_ptr<Journal> journal_ = *Journal::Create(folder_.path() + "/journal.db", "c");
  TraceCounts counts_;
};

TEST_F(RolloutTraceTest, EachServiceHasItsTimes) {
  OneStep();
  const ReadTrace trace = Trace(1, 1);
  EXPECT_EQ(counts_.rollouts, 3);
  EXPECT_EQ(counts_.seconds, 11);
  EXPECT_EQ(Text(trace.Of("trainer/policy")),
            "save warm-up 1 4-5, generate step 1 5.5-8.5, update step 1 12.25-14, save step 1 "
            "14-15");
  EXPECT_EQ(Text(trace.Of("trainer/sequence 1")), "generate 5.5-7");
  EXPECT_EQ(Text(trace.Of("trainer/sequence 2")), "generate 5.5-7");
  EXPECT_EQ(Text(trace.Of("trainer/sequence 3")), "generate 5.5-8.5");
  EXPECT_EQ(Text(trace.Of("worker cpu01/compile 1")), "compile 7.25-7.75");
  EXPECT_EQ(Text(trace.Of("worker cpu01/slot 1")), "check 8-8.25, time 9-12");
  EXPECT_EQ(Text(trace.Of("coordinator/steps")), "step 1 4-14");
}

TEST_F(RolloutTraceTest, EachRolloutHasItsChain) {
  OneStep();
  const ReadTrace trace = Trace(1, 1);
  EXPECT_EQ(trace.Chain("1/0/0"), "generate extract compile check time reward update");
  EXPECT_EQ(trace.Chain("1/0/1"), "generate extract reward update");
  EXPECT_EQ(trace.Chain("1/0/2"), "generate extract reward") << "it is not learned from";
  const std::vector<ReadTrace::Span> rewards = trace.Of("coordinator/reward");
  ASSERT_EQ(rewards.size(), 3u);
  EXPECT_EQ(rewards[1].args,
            nlohmann::json::parse(
                R"({"rollout":"1/0/0","problem":"a","outcome":"CORRECT","reward":0.25,)"
                R"("dropped":false,"cached":false,"speedup":2.0,"tokens":11,"generate_ms":1500.0,)"
                R"("screen_ms":250.0,"compile_ms":500.0,"check_ms":250.0,"time_ms":3000.0})"));
  EXPECT_EQ(trace.Of("worker cpu01/slot 1", "time")[0].args["waited_ms"], 750);
  EXPECT_EQ(trace.Of("coordinator/steps")[0].args["loss"], 0.5);
}

TEST_F(RolloutTraceTest, ABrokenOffGenerationGoesOnLater) {
  OneStep();
  At(17, {Rollout(2, 0, 0)});
  At(30, {StartEntry{}});
  At(33, {LoadEntry{}});
  At(35, {Rollout(2, 0, 1), Rollout(2, 0, 2)});
  const ReadTrace trace = Trace(2, 2);
  EXPECT_EQ(Text(trace.Of("trainer/policy")),
            "save step 1 14-15, generate step 2 16-17, start, load 30-33, generate step 2 33-35");
  EXPECT_EQ(Text(trace.Of("trainer/sequence 2")), "generate 33-35");
  EXPECT_EQ(trace.Chain("2/0/2"), "generate extract") << "that is all there is yet";
}

TEST_F(RolloutTraceTest, ARefillIsAGenerationOfItsOwn) {
  At(1, {Prompt(1, 0)});
  At(2, {Rollout(1, 0, 0), Rollout(1, 0, 1), Rollout(1, 0, 2)});
  At(4, {Prompt(1, 1)});
  At(5, {Rollout(1, 1, 0)});
  EXPECT_EQ(Text(Trace(1, 1).Of("trainer/policy")), "generate step 1 1-2, generate step 1 4-5");
}

TEST_F(RolloutTraceTest, StepsAheadAreDrawnBesideTheirElders) {
  At(1, {Prompt(1, 0)});
  At(2, {Rollout(1, 0, 0)});
  At(2.5, {Prompt(2, 0)});
  At(4, {Rollout(2, 0, 0)});
  At(5, {Timed(1, 0, 0, 0, {2.1, 0.1}, {2.3, 0.2}, {3, 2})});
  At(6, {Update(v1::UpdateName::GRPO, 1, 0.5, 5)});
  At(9, {Timed(2, 0, 0, 0, {4.1, 0.1}, {5.1, 0.2}, {6, 3})});
  At(10, {Update(v1::UpdateName::GRPO, 2, 0.5, 4)});
  const ReadTrace trace = Trace(2, 2);
  EXPECT_EQ(counts_.rollouts, 1) << "of step 2";
  EXPECT_EQ(trace.Chain("1/0/0"), "generate extract compile check time reward update");
  EXPECT_EQ(trace.Chain("2/0/0"), "generate extract compile check time reward update");
  EXPECT_EQ(Text(trace.Of("worker cpu01/slot 0")),
            "check 2.3-2.5, time 3-5, check 5.1-5.3, time 6-9");
}

TEST_F(RolloutTraceTest, ChallengersAreOnTheSlotsToo) {
  IncumbentEntry challenger;
  challenger.step = 1;
  challenger.problem_id = "a";
  challenger.accepted = true;
  challenger.verdict = Timed(1, 0, 0, 1, {12, 0}, {12.1, 0.1}, {12.2, 0.5}).verdict;
  challenger.verdict.mutable_stage_times()->set_build_us(0);
  At(1, {Prompt(1, 0)});
  At(2, {Rollout(1, 0, 0)});
  At(12, {Timed(1, 0, 0, 1, {2.25, 0.5}, {8, 0.25}, {9, 3})});
  At(12.75, {challenger});
  const ReadTrace trace = Trace(1, 1);
  EXPECT_EQ(Text(trace.Of("worker cpu01/slot 1")),
            "check 8-8.25, time 9-12, check again 12.1-12.2, time again 12.2-12.7");
  EXPECT_EQ(trace.Of("coordinator/reward", "new best").size(), 1u);
}

TEST_F(RolloutTraceTest, EvaluationsEndWithTheirRewards) {
  At(1, {Prompt(0, 0)});
  At(2, {Rollout(0, 0, 0)});
  At(5, {Timed(0, 0, 0, 0, {2.1, 0.1}, {2.3, 0.2}, {3, 2})});
  EvaluationEntry evaluation{StepName(0)};
  evaluation.row = {{"eval/time/step", 4.5}};
  At(5.5, {evaluation});
  const ReadTrace trace = Trace(0, 0);
  EXPECT_EQ(trace.Chain("eval-0/0/0"), "generate extract compile check time reward");
  EXPECT_EQ(Text(trace.Of("coordinator/steps")), "evaluation at step 0 1-5.5");
}

TEST_F(RolloutTraceTest, VerdictsOfEarlierVersionsAreDrawnAsIfTheyHadNotWaited) {
  At(1, {Prompt(1, 0)});
  At(2, {Rollout(1, 0, 0), Rollout(1, 0, 1)});
  for (int sample = 0; sample < 2; ++sample) {
    VerdictEntry old = Timed(1, 0, sample, 0, {0, 0.5}, {0, 0.25}, {0, 2});
    old.verdict.clear_stage_times();
    At(5 + sample, {old});
  }
  const ReadTrace trace = Trace(1, 1);
  EXPECT_EQ(Text(trace.Of("worker cpu01/measured 1")), "compile 2.25-2.75, check 2.75-3, time 3-5");
  EXPECT_EQ(Text(trace.Of("worker cpu01/measured 2")), "compile 3.25-3.75, check 3.75-4, time 4-6");
  EXPECT_EQ(trace.Of("worker cpu01/measured 1")[0].args["estimated"], true);
}

TEST_F(RolloutTraceTest, WhatIsNotThereIsSaid) {
  OneStep();
  const auto counts = TraceSteps(plan_, *journal_, {3, 3}, path_, [](const TraceCounts&) {});
  EXPECT_THAT(std::string(counts.status().message()),
              HasSubstr("holds no rollout of step 3; the newest are of step 1"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST(ParseTracedStepsTest, NamesStepsOrAnEvaluation) {
  const auto parsed = [](const char* text) {
    const auto steps = ParseTracedSteps(text);
    return steps.ok() ? absl::StrCat(steps->first, " to ", steps->last) : "none";
  };
  EXPECT_EQ(parsed("12"), "12 to 12");
  EXPECT_EQ(parsed("12..14"), "12 to 14");
  EXPECT_EQ(parsed("eval-10"), "-10 to -10");
  EXPECT_EQ(parsed("eval-0"), "0 to 0");
  for (const char* wrong : {"", "0", "-3", "14..12", "12..", "..12", "12...14", "a", "eval--1"}) {
    EXPECT_EQ(parsed(wrong), "none") << wrong;
  }
  EXPECT_THAT(std::string(ParseTracedSteps("a").status().message()), HasSubstr("write 12, 12..14"));
}

}  // namespace
}  // namespace whetstone
