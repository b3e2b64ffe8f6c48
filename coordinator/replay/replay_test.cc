// A campaign that was lived through is replayed as it was and with each kind of alteration. That
// the real trainer repeats itself is tests/system/replay_test.cc's to show.
#include "coordinator/replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "coordinator/campaign/campaign_fakes.h"
#include "coordinator/durable/request_builders.h"
#include "coordinator/loop/campaign_loop.h"
#include "coordinator/rpc/echo_services.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

// The trainer has a host of its own: workers measure while it computes.
class FarEchoTrainer final : public EchoTrainer {
 public:
  absl::StatusOr<v1::TrainerInfo> GetInfo(const v1::TrainerInfoRequest& request,
                                          const CallOptions& options) override {
    absl::StatusOr<v1::TrainerInfo> info = EchoTrainer::GetInfo(request, options);
    info->set_host_id("far away");
    return info;
  }
  absl::Status Generate(const v1::GenerateRequest& request,
                        const std::function<void(const v1::GenerateEvent&)>& on_event,
                        const CallOptions& options) override {
    absl::Status status = EchoTrainer::Generate(request, on_event, options);
    generated_ = std::max<int64_t>(generated_, request.step());  // refills come later
    return status;
  }
  int64_t generated() const { return generated_; }

 private:
  std::atomic<int64_t> generated_{0};  // the last step whose rollouts are all there
};

// The trainer has generated the whole step before any of it is measured. Only groups with an odd
// number have spread.
class SlowEchoWorker final : public EchoWorker {
 public:
  explicit SlowEchoWorker(const FarEchoTrainer* trainer) : trainer_(trainer) {}
  absl::StatusOr<v1::MeasureResponse> Measure(const v1::MeasureRequest& request,
                                              const CallOptions& options) override {
    const std::vector<std::string> id = absl::StrSplit(request.candidate_id(), '/');
    const bool evaluated = id[1].rfind("eval", 0) == 0;
    EXPECT_TRUE(evaluated ||
                Eventually([&] { return trainer_->generated() >= std::stoll(id[1]); }));
    absl::StatusOr<v1::MeasureResponse> response = EchoWorker::Measure(request, options);
    const bool odd = (id[2][0] - '0') % 2 == 1;
    if (odd && id[3] == "0") response->mutable_verdict()->set_outcome(v1::WRONG_ANSWER);
    return response;
  }

 private:
  const FarEchoTrainer* const trainer_;
};

class JournalReplayTest : public testing::Test {
 protected:
  explicit JournalReplayTest(std::vector<std::string> sets = {}, int64_t warmup = 2)
      : world_({.seed = 1, .faults = 0, .steps = 5, .warmup = warmup, .sets = std::move(sets)}) {
    const auto journal = *Journal::Create(folder_.path() + "/journal.db", "c");
    FarEchoTrainer trainer;
    SlowEchoWorker worker(&trainer);
    const SteadyClock clock;
    LoopHooks hooks;
    hooks.trainer = &trainer;
    hooks.workers = {&worker};
    hooks.journal = journal.get();
    hooks.clock = &clock;
    CampaignLoop loop(&world_.plan(), hooks);
    loop.Post(event::ServiceReady{kTrainer});
    loop.Post(event::ServiceReady{0});
    CampaignState state(&world_.plan(), {"worker"});
    EXPECT_TRUE(loop.Run(&state).ok());
    EXPECT_EQ(trainer.released_, 1);
    EXPECT_TRUE(journal
                    ->ForEach([&](const JournalEntry& entry) {
                      entries_.push_back(entry);
                      return absl::OkStatus();
                    })
                    .ok());
  }

  // Returns what a replay of `entries` says.
  absl::Status Run(const std::vector<JournalEntry>& entries, int64_t updates_max = 7,
                   int ranks = 1) {
    EchoTrainer trainer;
    trainer.ranks_ = ranks;
    Replay replay(&world_.plan(), updates_max,
                  {.trainer = with_trainer_ ? &trainer : nullptr,
                   .campaign_id = "replay-1",
                   .checkpoint_dir = "/again"});
    absl::Status status = replay.Begin();
    for (const JournalEntry& entry : entries) {
      if (status.ok()) status = replay.Take(entry);
    }
    if (status.ok()) status = replay.End();
    counts_ = replay.counts();
    EXPECT_EQ(trainer.GetInfo({}, {})->held_by(), with_trainer_ ? "replay-1" : "");
    heard_ = trainer.heard_;
    replay.Release();
    EXPECT_EQ(trainer.released_, with_trainer_ ? 1 : 0);
    return status;
  }
  // Replays them with the `n`th entry of kind T (from 0) changed.
  template <typename T>
  std::string Altered(int n, const std::function<void(T*)>& change) {
    std::vector<JournalEntry> entries = entries_;
    for (JournalEntry& entry : entries) {
      if (std::holds_alternative<T>(entry) && n-- == 0) change(&std::get<T>(entry));
    }
    EXPECT_LT(n, 0);
    const absl::Status status = Run(entries);
    EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
    return status.ok() ? "equal" : std::string(status.message());
  }
  // Replays them without those entries that `left_out` says.
  std::string Without(const std::function<bool(const JournalEntry&)>& left_out) {
    std::vector<JournalEntry> entries = entries_;
    std::erase_if(entries, left_out);
    return std::string(Run(entries).message());
  }

  TempDir folder_ = *TempDir::Make("replay");
  World world_;  // it gives the plan
  bool with_trainer_ = true;
  std::vector<JournalEntry> entries_;
  ReplayCounts counts_;
  int heard_ = 0;  // how often the trainer was told that the replay lives
};

class FrozenReplayTest : public JournalReplayTest {
 protected:
  FrozenReplayTest() : JournalReplayTest({"train.frozen=true", "search.parents=1"}) {}
};

TEST_F(FrozenReplayTest, StepsThatTaughtNothingAreEqualToo) {
  EXPECT_TRUE(Run(entries_).ok());
  EXPECT_EQ(counts_.updates, 7);
  EXPECT_EQ(counts_.checkpoints, 1);
}

class WrittenElsewhereTest : public JournalReplayTest {
 protected:
  WrittenElsewhereTest()
      : JournalReplayTest({"train.frozen=true", "search.parents=1"}, /*warmup=*/0) {
    with_trainer_ = false;
  }
};

TEST_F(WrittenElsewhereTest, WhatNobodyGeneratesAgainIsTakenAndWhatFollowsIsCompared) {
  const absl::Status status = Run(entries_, 5);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(counts_.updates, 5);
  EXPECT_GT(counts_.rollouts, 0);
  EXPECT_THAT(Altered<VerdictEntry>(2, [](VerdictEntry* entry) { entry->reward += 1; }),
              HasSubstr("is not the one"));
  EXPECT_THAT(Altered<RolloutEntry>(2, [](RolloutEntry* e) { e->completion.add_ids(5); }),
              HasSubstr("is not the one"));
}

TEST_F(JournalReplayTest, ARunAsItWasIsEqual) {
  const absl::Status status = Run(entries_);
  EXPECT_TRUE(status.ok()) << status;
  const v1::TrainConfig& train = world_.plan().campaign.train();
  EXPECT_EQ(counts_.updates, 7);
  EXPECT_EQ(counts_.rollouts, 5 * train.prompts_per_step() * train.group_size());
  EXPECT_GE(counts_.checkpoints, 2);
  EXPECT_EQ(heard_, 7) << "with every update";
  EXPECT_EQ(Altered<UpdateEntry>(3,
                                 [](UpdateEntry* entry) {
                                   (*entry->response.mutable_metrics())["perf/tokens_per_s"] = 1e9;
                                 }),
            "equal")
      << "how fast it was";
}

class UnfencedTrainer final : public EchoTrainer {
 public:
  absl::StatusOr<v1::LoadCheckpointResponse> LoadCheckpoint(
      const v1::LoadCheckpointRequest& request, const CallOptions& options) override {
    absl::StatusOr<v1::LoadCheckpointResponse> response =
        EchoTrainer::LoadCheckpoint(request, options);
    response->clear_holder();
    return response;
  }
};

TEST_F(JournalReplayTest, ATrainerThatDoesNotKnowItsHolderIsRefused) {
  UnfencedTrainer trainer;
  Replay replay(&world_.plan(), 7,
                {.trainer = &trainer, .campaign_id = "replay-1", .checkpoint_dir = "/again"});
  const absl::Status status = replay.Begin();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not know who holds it"));
}

TEST_F(JournalReplayTest, AnotherNumberOfRanksIsRefusedBeforeAnythingIsComputed) {
  const absl::Status status = Run(entries_, 7, /*ranks=*/2);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("computed by 1 rank, and the trainer has 2"));
  EXPECT_EQ(counts_.updates, 0);
  EXPECT_EQ(counts_.rollouts, 0);
}

TEST_F(JournalReplayTest, EndsWhereItIsTold) {
  EXPECT_TRUE(Run(entries_, 4).ok());
  EXPECT_EQ(counts_.updates, 4);
}

TEST_F(JournalReplayTest, ARunThatWasCutOffIsReplayedToItsLastRollout) {
  std::vector<JournalEntry> entries;
  int rollouts = 0;
  for (const JournalEntry& entry : entries_) {
    rollouts += std::holds_alternative<RolloutEntry>(entry) ? 1 : 0;
    entries.push_back(entry);
    if (rollouts == 3) break;
  }
  EXPECT_TRUE(Run(entries).ok());
  EXPECT_EQ(counts_.rollouts, 3);
}

class AheadReplayTest : public JournalReplayTest {
 protected:
  AheadReplayTest() : JournalReplayTest({"train.max_staleness=2"}) {}
};

TEST_F(AheadReplayTest, ARunThatGeneratedAheadIsEqualToo) {
  int ahead = 0;
  int64_t done = 0;
  for (const JournalEntry& entry : entries_) {
    if (const auto* update = std::get_if<UpdateEntry>(&entry)) {
      if (update->name.phase() == v1::UpdateName::GRPO) done = update->name.step();
    }
    const auto* rollout = std::get_if<RolloutEntry>(&entry);
    ahead += rollout != nullptr && rollout->step > done + 1 ? 1 : 0;
  }
  EXPECT_GT(ahead, 0) << "or there is nothing to prove";
  const absl::Status status = Run(entries_);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(counts_.updates, 7);
  EXPECT_EQ(counts_.rollouts, 5 * 2 * 4);
  EXPECT_TRUE(Run(entries_, 4).ok());
  EXPECT_THAT(
      Altered<RolloutEntry>(12, [](RolloutEntry* entry) { entry->completion.set_ids(1, 77); }),
      HasSubstr("ids[1]: 77 -> "));
}

class EvaluationReplayTest : public JournalReplayTest {
 protected:
  EvaluationReplayTest()
      : JournalReplayTest({"train.max_staleness=1", "eval.problems=[/v.md, /w.md]", "eval.every=2",
                           "eval.samples=3"}) {}
};

TEST_F(EvaluationReplayTest, EvaluationsAreGeneratedAgainToo) {
  const absl::Status status = Run(entries_);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(counts_.updates, 7);
  EXPECT_EQ(counts_.rollouts, 5 * 2 * 4 + 4 * 2 * 3) << "evaluated at steps 0, 2, 4 and 5";
  EXPECT_TRUE(Run(entries_, 4).ok());
  EXPECT_EQ(counts_.updates, 4);
  // The last rollout is of the last evaluation, which follows the last update.
  int rollouts = 0;
  for (const JournalEntry& entry : entries_) {
    rollouts += std::holds_alternative<RolloutEntry>(entry) ? 1 : 0;
  }
  EXPECT_THAT(Altered<RolloutEntry>(
                  rollouts - 1, [](RolloutEntry* entry) { entry->completion.set_ids(1, 99999); }),
              AllOf(HasSubstr("evaluation at step 5, group "), HasSubstr("ids[1]: 99999 -> ")));
  const auto verdict = [n = 0](const JournalEntry& entry) mutable {
    const auto* v = std::get_if<VerdictEntry>(&entry);
    return v != nullptr && IsEvaluation(v->step) && ++n == 1;
  };
  EXPECT_THAT(Without(verdict), HasSubstr("not each sample's verdict"));
}

class RefillReplayTest : public JournalReplayTest {
 protected:
  RefillReplayTest()
      : JournalReplayTest({"train.max_staleness=1", "train.dynamic_sampling.max_refills=2",
                           "search.parents=0.5"}) {}
};

TEST_F(RefillReplayTest, ARunWithRefillsIsEqualToo) {
  const absl::Status status = Run(entries_);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(counts_.updates, 7);
  EXPECT_EQ(counts_.rollouts, 5 * 4 * 4) << "of four groups, the second and the fourth have spread";
  EXPECT_TRUE(Run(entries_, 4).ok());
}

TEST_F(JournalReplayTest, ARunThatWentOnWithOtherSettingsIsEqualToo) {
  CampaignPlan plan = world_.plan();
  plan.former.push_back({6, plan.campaign});
  plan.campaign.mutable_train()->set_steps(9);
  plan.campaign.mutable_train()->set_lr(2e-6);
  EchoTrainer trainer;
  std::vector<std::string> lines;
  Replay replay(&plan, plan.updates(),
                {.trainer = &trainer,
                 .campaign_id = "replay-1",
                 .checkpoint_dir = "/again",
                 .on_step = [&](const std::string& line) { lines.push_back(line); }});
  ASSERT_TRUE(replay.Begin().ok());
  entries_.push_back(ChangeEntry{6, "train.steps", "5", "9"});
  for (const JournalEntry& entry : entries_) {
    const absl::Status status = replay.Take(entry);
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_TRUE(replay.End().ok());
  EXPECT_EQ(replay.counts().updates, 7);
  EXPECT_EQ(lines.back(), "from step 6: train.steps 5 -> 9");
}

TEST_F(JournalReplayTest, EachAlterationIsNamed) {
  EXPECT_THAT(Altered<PromptEntry>(1, [](PromptEntry* entry) { entry->prompt.add_ids(7); }),
              HasSubstr("prompt of group"));
  EXPECT_THAT(
      Altered<RolloutEntry>(2, [](RolloutEntry* entry) { entry->completion.set_ids(0, 99); }),
      HasSubstr("ids[0]: 99 -> "));
  EXPECT_THAT(Altered<RolloutEntry>(
                  2, [](RolloutEntry* f) { f->completion.set_sampling_logprobs(0, -0.75f); }),
              HasSubstr("sampling_logprobs[0]: -0.75 -> -0.5"));
  EXPECT_THAT(Altered<VerdictEntry>(1, [](VerdictEntry* entry) { entry->reward += 1e-9; }),
              HasSubstr("step 1: the update that follows from its rollouts and verdicts is not"));
  EXPECT_THAT(Altered<UpdateEntry>(
                  4, [](UpdateEntry* f) { (*f->response.mutable_metrics())["loss"] += 1e-12; }),
              HasSubstr("step 3: loss is not what the journal says"));
  EXPECT_THAT(Altered<UpdateEntry>(4, [](UpdateEntry* f) { f->response.set_applied(false); }),
              HasSubstr("skipped -> applied"));
  EXPECT_THAT(Altered<UpdateEntry>(1, [](UpdateEntry* f) { f->request_hash[0] ^= 1; }),
              HasSubstr("warm-up 2: the update that follows"));
  // As an earlier version recorded it.
  EXPECT_THAT(Altered<UpdateEntry>(1,
                                   [this](UpdateEntry* f) {
                                     f->request = BuildUpdate(world_.plan(),
                                                              DurableState(&world_.plan(), 1));
                                     f->request->mutable_optimizer()->set_lr(1);
                                   }),
              HasSubstr("optimizer.lr: 1"));
  EXPECT_THAT(Altered<CheckpointEntry>(0, [](CheckpointEntry* f) { f->checksum = "other"; }),
              HasSubstr("warm-up 2: checkpoint"));
}

TEST_F(JournalReplayTest, AJournalThatIsNoneIsRefused) {
  const auto verdict = [n = 0](const JournalEntry& entry) mutable {
    return std::holds_alternative<VerdictEntry>(entry) && ++n == 2;
  };
  EXPECT_THAT(Without(verdict), HasSubstr("not the prompt, rollout and verdict of each sample"));
  const auto update = [n = 0](const JournalEntry& entry) mutable {
    return std::holds_alternative<UpdateEntry>(entry) && ++n == 2;
  };
  EXPECT_THAT(Without(update), HasSubstr("after 1 of 7 updates"));
  const auto rollout = [n = 0](const JournalEntry& entry) mutable {
    return std::holds_alternative<RolloutEntry>(entry) && ++n == 1;
  };
  EXPECT_THAT(Without(rollout), HasSubstr("a verdict without a rollout"));
}

}  // namespace
}  // namespace whetstone
