// These campaigns evaluate their policy on problems that they do not learn from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/campaign/campaign_fakes.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;

// What happened to the policy, in order: "warm-up 1", "evaluation at step 0", "step 1" …
std::vector<std::string> History(const std::vector<JournalEntry>& journal) {
  std::vector<std::string> history;
  for (const JournalEntry& entry : journal) {
    if (const auto* u = std::get_if<UpdateEntry>(&entry)) history.push_back(PhaseStep(u->name));
    if (const auto* e = std::get_if<EvaluationEntry>(&entry)) history.push_back(PhaseStep(e->name));
  }
  return history;
}

TEST(CampaignEvalTest, ThePolicyIsEvaluatedBeforeBetweenAndAfter) {
  World world({.seed = 2,
               .steps = 5,
               .warmup = 1,
               .sets = {"eval.problems=[/v.md, /w.md]", "eval.every=2", "eval.samples=3"}});
  ASSERT_EQ(world.Live(), "");
  EXPECT_THAT(
      History(world.journal()),
      ElementsAre("warm-up 1", "evaluation at step 0", "step 1", "step 2", "evaluation at step 2",
                  "step 3", "step 4", "evaluation at step 4", "step 5", "evaluation at step 5"));
  std::set<std::string> ids;
  for (const JournalEntry& entry : world.journal()) {
    if (const auto* v = std::get_if<VerdictEntry>(&entry); v && IsEvaluation(v->step)) {
      ids.insert(v->verdict.candidate_id());
      EXPECT_EQ(v->verdict.problem_hash(), v->group_index == 0 ? "hash-v" : "hash-w");
    }
    if (const auto* best = std::get_if<IncumbentEntry>(&entry)) {
      EXPECT_FALSE(IsEvaluation(best->step)) << "nobody asked for the held-out problems' best";
    }
    if (const auto* e = std::get_if<EvaluationEntry>(&entry)) {
      EXPECT_EQ(e->row.at("eval/samples"), 6);
      EXPECT_GT(e->row.at("eval/time/generate"), 0);
      EXPECT_GE(e->row.at("eval/time/step"), e->row.at("eval/time/generate"));
    }
  }
  EXPECT_EQ(ids.size(), 4u * 2 * 3);
  EXPECT_EQ(ids.count("sim-1/eval-4/1/2"), 1u);
  EXPECT_EQ(std::count_if(world.lines().begin(), world.lines().end(),
                          [](const std::string& line) {
                            return absl::StrContains(line, "evaluation at step ") &&
                                   absl::StrContains(line, "correct ");
                          }),
            4);
}

TEST(CampaignEvalTest, EveryZeroIsTheEndOnly) {
  World world(
      {.seed = 2, .steps = 3, .warmup = 1, .sets = {"eval.problems=[/v.md]", "eval.every=0"}});
  ASSERT_EQ(world.Live(), "");
  EXPECT_THAT(History(world.journal()),
              ElementsAre("warm-up 1", "step 1", "step 2", "step 3", "evaluation at step 3"));
}

TEST(CampaignEvalTest, AFrozenPolicyIsEvaluatedOnce) {
  World world(
      {.seed = 1,
       .steps = 4,
       .warmup = 2,
       .sets = {"train.frozen=true", "eval.problems=[/v.md]", "eval.every=1", "eval.samples=2"}});
  EXPECT_EQ(world.Live(), "");
  EXPECT_EQ(world.evaluated(), 1);
}

TEST(CampaignEvalTest, ACampaignThatLearnsNothingEvaluatesOnce) {
  World world({.seed = 2, .steps = 0, .warmup = 0, .sets = {"eval.problems=[/v.md]"}});
  ASSERT_EQ(world.Live(), "");
  EXPECT_THAT(History(world.journal()), ElementsAre("evaluation at step 0"));
  // A campaign that is killed at any entry goes on with what is there, and measures nothing again.
  for (size_t kept = 0; kept < world.journal().size(); ++kept) {
    DurableState durable(&world.plan());
    for (size_t i = 0; i < kept; ++i) durable.Apply(world.journal()[i]);
    const int rollouts = static_cast<int>(durable.rollouts());
    CampaignState state(&world.plan(), {"worker"});
    state.Restore(std::move(durable));
    int asked = 0;
    v1::TrainerInfo info;
    info.set_campaign_id(world.plan().campaign_id);
    info.set_model("/model");
    std::vector<Action> actions = state.Handle({event::ServiceReady{kTrainer}}, 1);
    for (const Action& action : actions) {
      const auto* probe = std::get_if<action::Probe>(&action);
      if (probe == nullptr || probe->service != kTrainer) continue;
      const auto keep = std::get<action::LoadPolicy>(
          state.Handle({event::TrainerProbed{probe->call, info}}, 2).at(0));
      event::PolicyLoaded kept{keep.call};
      *kept.response.mutable_info() = info;
      kept.response.mutable_holder()->set_epoch(1);
      for (const Action& next : state.Handle({kept}, 2)) {
        const auto* generate = std::get_if<action::Generate>(&next);
        if (generate == nullptr) continue;
        EXPECT_EQ(generate->request.step(), 0);
        for (const v1::PromptGroup& group : generate->request.groups()) {
          asked += group.samples_size();
        }
      }
    }
    EXPECT_EQ(asked, 8 - rollouts) << "after " << kept << " entries";
  }
}

// While an evaluation's verdicts are missing the trainer generates steps that were open already.
TEST(CampaignEvalTest, StepsSampledAheadWaitBehindIt) {
  World world({.seed = 7,
               .workers = 2,
               .shared = false,
               .steps = 20,
               .warmup = 0,
               .group_size = 8,
               .sets = {"train.max_staleness=2", "eval.problems=[/v.md, /w.md]", "eval.every=4"},
               .measure = 6});
  ASSERT_EQ(world.Live(), "");
  EXPECT_GT(world.stalest(), 0);
  EXPECT_EQ(world.evaluated(), 6);
}

TEST(CampaignEvalTest, WhatIsEvaluatedCanBeWhatIsSaved) {
  World world({.seed = 2,
               .steps = 4,
               .warmup = 1,
               .sets = {"eval.problems=[/v.md]", "eval.every=1", "checkpoint.best_by=eval"}});
  ASSERT_EQ(world.Live(), "");
  std::vector<std::string> saved;
  for (const JournalEntry& entry : world.journal()) {
    if (const auto* c = std::get_if<CheckpointEntry>(&entry)) saved.push_back(c->path);
  }
  EXPECT_THAT(saved, ElementsAre("/ckpt/warmup", "/ckpt/step-1", "/ckpt/step-2", "/ckpt/step-3",
                                 "/ckpt/step-4"));
}

}  // namespace
}  // namespace whetstone
