#include "coordinator/durable/search_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/durable/campaign_plan_testing.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/durable/request_builders.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Found is a right program of that name, clearly faster than the reference or (`clear` false) not,
// or a wrong one (speedup 0).
struct Found {
  std::string program;
  double speedup = 0;
  bool clear = true;
};

class SearchArchiveTest : public testing::Test {
 protected:
  void Begin(const std::string& search, const std::vector<std::string>& more = {}) {
    std::vector<std::string> sets = {absl::StrCat("search=", search)};
    sets.insert(sets.end(), more.begin(), more.end());
    plan_ = MakeTestPlan(
        {.steps = 30, .warmup = 0, .group_size = 3, .prompts_per_step = 1, .sets = sets});
    plan_.problems.resize(1);
    plan_.problems[0].problem.set_reference("\nvoid f();");
    plan_.problems[0].messages[0].set_content("Faster:\n```cpp\nvoid f();\n```");
    durable_.emplace(&plan_);
  }
  void SetUp() override { Begin("{parents: 1, archive: 2, exploration: 1}"); }

  void AddRollouts(int64_t step, const std::vector<Found>& samples) {
    PromptEntry prompt{step, v1::PromptTokens()};
    durable_->Apply(prompt);
    for (int s = 0; s < 3; ++s) {
      RolloutEntry rollout;
      rollout.step = step;
      rollout.completion.set_sample(s);
      rollout.completion.set_finish(finish_);
      rollout.completion.set_text(
          absl::StrCat("```cpp\n", samples[static_cast<size_t>(s)].program, "\n```"));
      durable_->Apply(rollout);
    }
  }
  void AddVerdicts(int64_t step, const std::vector<Found>& samples,
                   const std::vector<int>& order = {0, 1, 2}) {
    for (const int s : order) {
      const Found& sampled = samples[static_cast<size_t>(s)];
      VerdictEntry entry{step, 0, s, v1::Verdict(), sampled.speedup, false};
      entry.verdict.set_outcome(sampled.speedup > 0 ? v1::CORRECT : failed_);
      entry.verdict.set_speedup(sampled.speedup);
      entry.verdict.set_speedup_low(sampled.clear ? 0.99 * sampled.speedup : 0.5);
      entry.verdict.set_canonical_hash("hash of " + sampled.program);
      if (sampled.speedup == 0) {
        entry.verdict.set_detail(detail_ == " " ? detail_ : detail_ + sampled.program);
      }
      const size_t colon = sampled.program.find(": ");
      if (colon != std::string::npos) entry.verdict.set_object_hash(sampled.program.substr(colon));
      durable_->Apply(entry);
    }
  }
  void Step(const std::vector<Found>& samples, const std::vector<int>& order = {0, 1, 2}) {
    const int64_t step = durable_->step();
    AddRollouts(step, samples);
    AddVerdicts(step, samples, order);
    durable_->Apply(UpdateEntry{BuildUpdate(plan_, *durable_).name()});
  }
  // Returns the parent of the next step's group by its hash, "" without.
  std::string Parent() const {
    const std::optional<SearchParent>& parent = durable_->open_steps().front().groups[0].parent;
    return parent ? parent->hash.substr(std::string("hash of ").size()) : "";
  }
  // Returns what the next step's group is told of its failed parent.
  const std::string& Failure() const {
    return durable_->open_steps().front().groups[0].parent->failure;
  }
  // Returns the failed programs that are noted.
  std::vector<std::string> Failed() const {
    std::vector<std::string> programs;
    const auto found = durable_->archive().find("a");
    if (found == durable_->archive().end()) return programs;
    for (const FailedProgram& p : found->second.failed) {
      programs.push_back(p.hash.substr(std::string("hash of ").size()));
    }
    return programs;
  }
  std::vector<std::string> Archived() const {
    std::vector<std::string> programs;
    const auto found = durable_->archive().find("a");
    if (found == durable_->archive().end()) return programs;
    for (const ArchivedProgram& p : found->second.programs) {
      programs.push_back(absl::StrCat(p.hash, " of step ", p.step, ", parent '", p.parent, "', of ",
                                      p.groups, " groups, best ", p.best_child));
    }
    return programs;
  }

  CampaignPlan plan_;
  std::optional<DurableState> durable_;
  std::string detail_ = "it is ";  // of what failed, before its program; " " alone: nothing else
  v1::Outcome failed_ = v1::WRONG_ANSWER;
  v1::Completion::Finish finish_ = v1::Completion::STOP;
};

TEST_F(SearchArchiveTest, WhatIsKnownBeforehandIsThereFromTheBeginning) {
  plan_.problems[0].known = {{"void f() { known(); }", "hash of known", 2},
                             {"void f() { slow(); }", "", 1.5},
                             {"void f() { slower(); }", "", 1.2}};
  durable_.emplace(&plan_);
  EXPECT_THAT(Archived(), ElementsAre(HasSubstr("hash of known of step 0"), testing::_))
      << "there is room for two";
  EXPECT_EQ(Parent(), "known");
  const v1::GenerateRequest request = BuildGenerate(plan_, durable_->open_steps().front());
  EXPECT_THAT(request.groups(0).messages(0).content(), HasSubstr("known();"));
  EXPECT_THAT(request.groups(0).messages(0).content(),
              HasSubstr("already 2.0 times as fast as the first one"));
  // A copy of it is nothing new, and what comes of it is its child.
  Step({{"known", 2}, {"child", 3}, {"wrong", 0}});
  EXPECT_THAT(Archived(), ElementsAre("hash of child of step 1, parent 'hash of known', of 0 "
                                      "groups, best 0",
                                      "hash of known of step 0, parent '', of 1 groups, best 3"));
}

TEST_F(SearchArchiveTest, KeepsTheFastestDifferentProgramsThatAreClearOfNoise) {
  EXPECT_EQ(Parent(), "");
  Step({{"slow", 1.5}, {"copy", 1.01, false}, {"wrong", 0}});
  EXPECT_THAT(Archived(), ElementsAre("hash of slow of step 1, parent '', of 0 groups, best 0"));
  EXPECT_EQ(Parent(), "slow");
  // Its parent hears of it, though not of its own copy.
  Step({{"middling", 1.4}, {"slow", 1.7}, {"wrong", 0}}, {2, 0, 1});
  EXPECT_THAT(Archived(),
              ElementsAre("hash of slow of step 1, parent '', of 1 groups, best 1.4",
                          "hash of middling of step 2, parent 'hash of slow', of 0 groups, best "
                          "0"));
  // The room is for two.
  Step({{"fast", 3}, {"wrong", 0}, {"wrong", 0}});
  EXPECT_THAT(Archived()[0], HasSubstr("hash of fast"));
  EXPECT_THAT(Archived()[1], HasSubstr("hash of slow"));
}

TEST_F(SearchArchiveTest, TheSameObjectIsTheSameProgram) {
  Step({{"one: A", 2}, {"other: A", 2.1}, {"more: B", 1.5}});
  EXPECT_THAT(Archived(), ElementsAre("hash of one: A of step 1, parent '', of 0 groups, best 0",
                                      "hash of more: B of step 1, parent '', of 0 groups, best 0"));
}

TEST_F(SearchArchiveTest, AGroupIsShownItsParentInThePlaceOfTheReference) {
  Step({{"void f() { fast(); }", 2}, {"x", 0}, {"y", 0}});
  const StepRecord& step = durable_->open_steps().front();
  const v1::GenerateRequest request = BuildGenerate(plan_, step);
  EXPECT_EQ(
      request.groups(0).messages(0).content(),
      "Faster:\n```cpp\nvoid f() { fast(); }\n```\nThis form of it is already 2.0 times as fast as "
      "the first one; make it faster still.");
  Begin("{parents: 0}");
  Step({{"void f() { fast(); }", 2}, {"x", 0}, {"y", 0}});
  EXPECT_THAT(Archived(), IsEmpty());
  EXPECT_EQ(BuildGenerate(plan_, durable_->open_steps().front()).groups(0).messages(0).content(),
            "Faster:\n```cpp\nvoid f();\n```");
}

TEST_F(SearchArchiveTest, OfTwoTheOneIsTriedThatPromisesMoreUntilItsChildrenSaySo) {
  Begin("{parents: 1, archive: 2, exploration: 0}");
  Step({{"a", 4}, {"b", 2}, {"wrong", 0}});
  EXPECT_EQ(Parent(), "a");
  // Its only child is worth less than what nobody tried.
  Step({{"c", 1.2}, {"wrong", 0}, {"wrong", 0}});
  EXPECT_EQ(Parent(), "b");
  // Copies are no children: nothing came of it.
  Step({{"b", 2}, {"wrong", 0}, {"wrong", 0}});
  EXPECT_EQ(Parent(), "a");
}

TEST_F(SearchArchiveTest, WhatWasTriedLittleHasItsTurn) {
  const auto parents = [&](const char* exploration) {
    Begin(absl::StrCat("{parents: 1, archive: 2, exploration: ", exploration, "}"));
    Step({{"a", 4}, {"b", 2}, {"wrong", 0}});
    std::string all;
    for (int i = 0; i < 12; ++i) {
      all += Parent();
      // Whichever is shown, the best that comes of it is as fast as a.
      Step({{absl::StrCat("child ", i), 4}, {"wrong", 0}, {"wrong", 0}});
    }
    return all;
  };
  EXPECT_EQ(parents("0").substr(0, 1), "a");
  const std::string all = parents("3");
  EXPECT_NE(all, std::string(all.size(), all[0])) << all;
}

TEST_F(SearchArchiveTest, TheShareOfGroupsWithAParentFollowsFromSeedAndPlaceAlone) {
  const auto with = [&](const std::string& seed) {
    Begin("{parents: 0.5, archive: 2}", {"seed=" + seed});
    std::string groups;
    for (int i = 0; i < 25; ++i) {
      Step({{"a", 4}, {"b", 2}, {"wrong", 0}});
      groups += Parent().empty() ? '.' : 'P';
    }
    return groups;
  };
  const std::string first = with("1");
  EXPECT_EQ(first, with("1"));
  EXPECT_NE(first, with("2"));
  const auto parents = std::count(first.begin(), first.end(), 'P');
  EXPECT_GT(parents, 5);
  EXPECT_LT(parents, 20);
}

TEST_F(SearchArchiveTest, StepsThatAreOpenTogetherTakeDifferentParents) {
  Begin("{parents: 1, archive: 2, exploration: 10}", {"train.max_staleness=2"});
  Step({{"a", 4}, {"b", 3.9}, {"wrong", 0}});
  std::vector<std::string> parents;
  for (const StepRecord& open : durable_->open_steps()) {
    parents.push_back(open.groups[0].parent ? open.groups[0].parent->hash : "none");
  }
  // Steps 2 and 3 were open before anything was found.
  EXPECT_THAT(parents, ElementsAre("none", "none", "hash of a"));
  Step({{"a", 4}, {"wrong", 0}, {"wrong", 0}});
  Step({{"a", 4}, {"wrong", 0}, {"wrong", 0}});
  // None of theirs is in the archive yet.
  std::vector<std::string> open;
  for (const StepRecord& step : durable_->open_steps()) {
    open.push_back(step.groups[0].parent->hash);
  }
  EXPECT_THAT(open, ::testing::Contains("hash of b"));
}

TEST_F(SearchArchiveTest, WhatAParentInspiredIsNoAnswerToThePlainPrompt) {
  Begin("{parents: 1, archive: 4}", {"train.imitation={size: 2, from_speedup: 1.1, weight: 1}"});
  Step({{"a", 4}, {"b", 2}, {"wrong", 0}});
  ASSERT_EQ(durable_->memory().at("a").size(), 2);
  Step({{"c", 9}, {"wrong", 0}, {"wrong", 0}});
  EXPECT_EQ(durable_->memory().at("a").size(), 2);
  EXPECT_EQ(durable_->memory().at("a")[0].hash, "hash of a");
  // Nor is a remembered answer to the plain prompt one to a parent's.
  const int64_t step = durable_->step();
  AddRollouts(step, {{"d", 1}, {"wrong", 0}, {"wrong", 0}});
  AddVerdicts(step, {{"d", 1}, {"wrong", 0}, {"wrong", 0}});
  EXPECT_EQ(BuildUpdate(plan_, *durable_).grpo().groups(0).rollouts_size(), 3);
}

TEST_F(SearchArchiveTest, WhatFailedIsShownAsAnAnswerWithWhyUntilItIsMended) {
  Begin("{repairs: 1, archive: 2}");
  EXPECT_EQ(Parent(), "");
  Step({{"wrong 1", 0}, {"wrong 2", 0}, {"right", 2}});
  EXPECT_EQ(Parent(), "wrong 2") << "the latest";
  EXPECT_THAT(Archived(), ElementsAre(HasSubstr("hash of right"))) << "it is noted, and not shown";
  const v1::GenerateRequest request = BuildGenerate(plan_, durable_->open_steps().front());
  ASSERT_EQ(request.groups(0).messages_size(), 3);
  EXPECT_EQ(request.groups(0).messages(0).content(), plan_.problems[0].messages[0].content());
  EXPECT_EQ(request.groups(0).messages(1).role(), "assistant");
  EXPECT_EQ(request.groups(0).messages(1).content(), "```cpp\nwrong 2\n```");
  EXPECT_EQ(request.groups(0).messages(2).role(), "user");
  EXPECT_EQ(request.groups(0).messages(2).content(),
            "That does not work: it is wrong 2\nCorrect it. Write the whole function.");
  // Nobody mends it, so the other one has its turn, and then what failed since.
  Step({{"wrong 2", 0}, {"wrong 2", 0}, {"wrong 2", 0}});
  EXPECT_EQ(Parent(), "wrong 1");
  Step({{"right", 2}, {"wrong 2", 0}, {"wrong 2", 0}});
  EXPECT_EQ(Parent(), "wrong 2") << "the other one is mended";
  Step({{"wrong 3", 0}, {"wrong 4", 0}, {"wrong 5", 0}});
  EXPECT_EQ(Parent(), "wrong 4") << "two of a group are noted";
  EXPECT_THAT(Failed(), ElementsAre("wrong 3", "wrong 4")) << "there is room for two";
}

TEST_F(SearchArchiveTest, WhatWasMendedIsNotShownAgain) {
  Begin("{repairs: 1, archive: 2}");
  Step({{"wrong 1", 0}, {"right", 2}, {"right", 2}});
  ASSERT_EQ(Parent(), "wrong 1");
  Step({{"right", 2}, {"wrong 1", 0}, {"wrong 1", 0}});
  EXPECT_THAT(Failed(), IsEmpty()) << "not by those of its own group that repeat it";
  EXPECT_EQ(Parent(), "");
}

TEST_F(SearchArchiveTest, WhatNobodyCouldMendIsNotShown) {
  const std::vector<Found> found = {{"wrong", 0}, {"right", 2}, {"right", 2}};
  Begin("{repairs: 1, archive: 2}");
  finish_ = v1::Completion::LENGTH;
  Step(found);
  EXPECT_THAT(Failed(), IsEmpty()) << "it was cut off";
  finish_ = v1::Completion::STOP;
  detail_ = " ";
  Step(found);
  EXPECT_THAT(Failed(), IsEmpty()) << "nothing is known of it";
  detail_ = "it is ";
  Step({{"wrong" + std::string(8000, ' ') + "1", 0}, {"right", 2}, {"right", 2}});
  EXPECT_THAT(Failed(), IsEmpty()) << "it leaves no room for an answer";
  failed_ = v1::SUSPECT;
  Step(found);
  EXPECT_THAT(Failed(), IsEmpty()) << "it is too fast";
  failed_ = v1::CRASH;
  Step(found);
  EXPECT_THAT(Failed(), ElementsAre("wrong"));
}

TEST_F(SearchArchiveTest, WhatIsForbiddenIsToldOnlyToWhoeverLearnsNothing) {
  failed_ = v1::FORBIDDEN;
  Begin("{repairs: 1, archive: 2}");
  Step({{"wrong", 0}, {"right", 2}, {"right", 2}});
  EXPECT_THAT(Failed(), IsEmpty());
  plan_.campaign.mutable_train()->set_frozen(true);
  Step({{"wrong", 0}, {"right", 2}, {"right", 2}});
  EXPECT_THAT(Failed(), ElementsAre("wrong"));
}

TEST_F(SearchArchiveTest, AnEvaluationHasNoParent) {
  Begin("{repairs: 1, archive: 2}");
  Step({{"wrong", 0}, {"right", 2}, {"right", 2}});
  ASSERT_EQ(Parent(), "wrong");
  plan_.problems.push_back(plan_.problems[0]);
  plan_.campaign.mutable_eval()->add_problems("/a.md");
  EXPECT_TRUE(ChooseParent(plan_, durable_->archive(), {}, 5, 0).has_value());
  EXPECT_FALSE(ChooseParent(plan_, durable_->archive(), {}, -5, 0).has_value());
}

TEST_F(SearchArchiveTest, WhatIsSaidOfAFailureHasABound) {
  Begin("{repairs: 1, archive: 2}");
  detail_ = std::string(700, 'x') + "\n" + std::string(700, 'y');
  Step({{"wrong", 0}, {"right", 2}, {"right", 2}});
  EXPECT_EQ(Failure(), std::string(700, 'x'));
  Begin("{repairs: 1, archive: 2}");
  detail_ = "\n  one two\n" + std::string(900, 'x');
  Step({{"wrong", 0}, {"right", 2}, {"right", 2}});
  EXPECT_EQ(Failure(), "one two\n" + std::string(792, 'x')) << "a break at its beginning is none";
  Begin("{repairs: 1, archive: 2}");
  detail_ = "x";
  std::string whole = "x";
  for (int i = 0; i < 300; ++i) detail_ += "\u00e9\u2026";  // two bytes and three
  for (int i = 0; i < 159; ++i) whole += "\u00e9\u2026";
  Step({{"wrong", 0}, {"right", 2}, {"right", 2}});
  EXPECT_EQ(Failure(), whole + "\u00e9") << "the last two of 800 bytes are two thirds of one";
}

TEST_F(SearchArchiveTest, ASnapshotKeepsArchiveAndParents) {
  Begin("{parents: 0.5, repairs: 0.5, archive: 2}");
  Step({{"a", 4}, {"b", 2}, {"wrong", 0}});
  Step({{"c", 3}, {"b", 2}, {"wrong 2", 0}});
  const v1::StateSnapshot snapshot = durable_->Snapshot();
  absl::StatusOr<DurableState> back = DurableState::BeginRestore(&plan_, snapshot);
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_TRUE(back->FinishRestore(snapshot).ok());
  EXPECT_EQ(back->Fingerprint(), durable_->Fingerprint());
  EXPECT_THAT(back->Fingerprint(), HasSubstr("parent hash of "));
  EXPECT_THAT(back->Fingerprint(), HasSubstr("failed a hash of wrong 2"));
}

TEST_F(SearchArchiveTest, ASnapshotKeepsWhyAParentFailed) {
  Begin("{repairs: 1, archive: 2}");
  Step({{"wrong", 0}, {"right", 2}, {"right", 2}});
  const v1::StateSnapshot snapshot = durable_->Snapshot();
  absl::StatusOr<DurableState> back = DurableState::BeginRestore(&plan_, snapshot);
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_TRUE(back->FinishRestore(snapshot).ok());
  const std::optional<SearchParent>& parent = back->open_steps().front().groups[0].parent;
  ASSERT_TRUE(parent.has_value());
  EXPECT_EQ(parent->failure, "it is wrong");
  EXPECT_EQ(parent->source, durable_->open_steps().front().groups[0].parent->source);
  EXPECT_EQ(BuildGenerate(plan_, back->open_steps().front()).groups(0).messages_size(), 3);
}

}  // namespace
}  // namespace whetstone
