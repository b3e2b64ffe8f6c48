#include "coordinator/report/rollout_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RolloutViewTest : public testing::Test {
 protected:
  // Groups 0 and 1 of a step are of problems a and b.
  void Add(int64_t step, int group_index, int sample, v1::Outcome outcome, double reward,
           const std::string& program) {
    RolloutEntry rollout;
    rollout.step = step;
    rollout.completion.set_group_index(group_index);
    rollout.completion.set_sample(sample);
    rollout.completion.set_text(absl::StrCat("Here:\n```cpp\n", program, "```\n"));
    rollout.completion.set_finish(v1::Completion::LENGTH);
    for (const int id : {5, 7}) {
      rollout.completion.add_ids(id);
      rollout.completion.add_sampling_logprobs(-0.25F * static_cast<float>(id));
    }
    VerdictEntry verdict;
    verdict.step = step;
    verdict.group_index = group_index;
    verdict.sample = sample;
    verdict.reward = reward;
    verdict.verdict.set_outcome(outcome);
    verdict.dropped = outcome == v1::INFRASTRUCTURE_ERROR;
    if (outcome == v1::CORRECT) {
      verdict.verdict.set_timed(true);
      verdict.verdict.set_speedup(3);
      verdict.verdict.set_speedup_low(2.9);
      verdict.verdict.set_speedup_high(3.1);
      v1::SizeResult* size = verdict.verdict.add_sizes();
      (*size->mutable_size())["n"] = 64;
      size->set_speedup(3);
      size->set_reference_ns(300);
      size->set_candidate_ns(100);
    } else {
      verdict.verdict.set_detail("line 2: what is this?");
    }
    ASSERT_TRUE(journal_->Append({rollout, verdict}, 0).ok());
  }
  std::string Place(const std::string& which, const std::string& problem = "") const {
    const auto view = ViewRollout(plan_, *journal_, which, problem);
    return view.ok() ? RolloutPlace(view->step, view->group_index, view->sample)
                     : view.status().ToString();
  }

  const TempDir folder_ = *TempDir::Make("view");
  const CampaignPlan plan_ = MakeTestPlan({.warmup = 0});
  std::unique_ptr<Journal> journal_ = *Journal::Create(folder_.path() + "/journal.db", "c");
};

TEST_F(RolloutViewTest, AllOfARollout) {
  Add(1, 0, 2, v1::CORRECT, 1.25, "void a() { /* faster */ }\n");
  const auto view = ViewRollout(plan_, *journal_, "1/0/2", "");
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->problem_id, "a");
  EXPECT_EQ(view->program, "void a() { /* faster */ }\n");
  const std::string text = RolloutText(*view, {});
  EXPECT_THAT(text, testing::StartsWith(
                        "1/0/2, a: correct, 3.00× as fast as the reference (2.90 to 3.10), "
                        "reward 1.250\n"
                        "  n = 64: 3.00×, reference 300 ns, program 100 ns\n"
                        "2 tokens, cut off by generate.max_new_tokens or the context's end; "
                        "log-probability -1.50 at the mean, -1.75 at the least (token 2)\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("what the policy wrote:\nHere:\n```cpp\nvoid a()"),
                          HasSubstr("changes from the reference:\n--- reference.cc"),
                          HasSubstr("+void a() { /* faster */ }"), Not(HasSubstr("asked")),
                          Not(HasSubstr("token, id"))));
  EXPECT_THAT(RolloutText(*view, {.prompt = true, .tokens = true}),
              AllOf(HasSubstr(absl::StrCat("asked, as ", view->asked[0].role(), ":\n")),
                    HasSubstr("    1       5   -1.2500\n    2       7   -1.7500")));
  const nlohmann::ordered_json json = RolloutJson(*view);
  EXPECT_EQ(json["rollout"], "1/0/2");
  EXPECT_EQ(json["ids"].dump(), "[5,7]");
  EXPECT_EQ(json["logprobs"].dump(), "[-1.25,-1.75]");
  EXPECT_EQ(json["verdict"]["outcome"], "CORRECT");
  EXPECT_EQ(json["verdict"]["reward"], 1.25);
  EXPECT_EQ(json["verdict"]["sizes"][0]["reference_ns"], 300);
  EXPECT_EQ(json["finish"], "LENGTH");
  EXPECT_EQ(json["parent"], nullptr);
  EXPECT_THAT(json["diff_reference"].get<std::string>(), HasSubstr("--- reference.cc"));
}

TEST_F(RolloutViewTest, BestAndWorstByReward) {
  EXPECT_THAT(Place("best"), HasSubstr("nothing was measured yet"));
  Add(1, 0, 0, v1::CORRECT, 1.25, "one\n");
  Add(1, 0, 1, v1::CORRECT, 1.25, "two\n");
  Add(1, 1, 0, v1::COMPILE_ERROR, -1, "three\n");
  Add(1, 0, 2, v1::COMPILE_ERROR, -0.5, "four\n");
  Add(1, 1, 1, v1::INFRASTRUCTURE_ERROR, 7, "five\n");
  EXPECT_EQ(Place("best"), "1/0/0") << "the first of equals, and one that was measured";
  EXPECT_EQ(Place("WORST"), "1/1/0");
  EXPECT_EQ(Place("worst", "a"), "1/0/2");
  EXPECT_EQ(Place("best", "b"), "1/1/0");
  EXPECT_THAT(Place("best", "aa"), HasSubstr("no problem 'aa'; did you mean 'a'?"));
  EXPECT_THAT(RolloutText(*ViewRollout(plan_, *journal_, "worst", ""), {}),
              HasSubstr("the worker says:\nline 2: what is this?"));
}

TEST_F(RolloutViewTest, WhatAPolicyWritesDoesNotDriveTheTerminal) {
  Add(1, 0, 0, v1::CORRECT, 1, "a\x1b[2J\tb\n");
  EXPECT_THAT(RolloutText(*ViewRollout(plan_, *journal_, "best", ""), {}),
              AllOf(HasSubstr("\na?[2J\tb\n"), Not(HasSubstr("\x1b"))));
}

TEST_F(RolloutViewTest, WhatIsNotThereIsSaid) {
  Add(1, 0, 0, v1::CORRECT, 1, "one\n");
  for (const char* which : {"", "1", "1/0", "1/0/0/0", "0/0/0", "1/-1/0", "eval/0/0", "bst"}) {
    EXPECT_THAT(Place(which), AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("as in 12/0/3")))
        << which;
  }
  EXPECT_THAT(Place("2/0/0"), AllOf(HasSubstr("NOT_FOUND"), HasSubstr("no rollout of step 2")));
  EXPECT_THAT(Place("eval-2/0/0"), HasSubstr("no rollout of evaluation at step 2"));
  EXPECT_THAT(Place("1/0/3"), HasSubstr("no rollout 1/0/3: step 1 has 2 groups of 4 samples, both "
                                        "counted from 0, and 1 of these were written"));
  EXPECT_THAT(Place("1/2/0"), HasSubstr("no rollout 1/2/0"));
  EXPECT_THAT(Place("1/0/0", "a"), HasSubstr("--problem"));
}

}  // namespace
}  // namespace whetstone
