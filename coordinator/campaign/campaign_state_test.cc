#include "coordinator/campaign/campaign_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/campaign/campaign_fakes.h"
#include "coordinator/campaign/deadlines.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

template <typename T>
int Count(const std::vector<JournalEntry>& journal) {
  int count = 0;
  for (const JournalEntry& entry : journal) count += std::holds_alternative<T>(entry) ? 1 : 0;
  return count;
}

TEST(CampaignStateTest, AHundredStepsWithoutTrouble) {
  World world({.seed = 3, .workers = 2, .shared = true, .faults = 0, .steps = 100, .warmup = 5});
  EXPECT_EQ(world.Live(), "");
  EXPECT_EQ(world.crashes(), 0);
  EXPECT_EQ(Count<UpdateEntry>(world.journal()), 105);
  EXPECT_EQ(Count<RolloutEntry>(world.journal()), 100 * 2 * 4);
  EXPECT_EQ(Count<VerdictEntry>(world.journal()), 100 * 2 * 4);
  EXPECT_EQ(Count<CheckpointEntry>(world.journal()), 1 + 50) << "warm-up's end and every second";
  EXPECT_LT(world.measured(), 2 * 800) << "equal texts of a group share a measurement";
}

TEST(CampaignStateTest, CheckpointsAtTheEndOfWarmupEveryNAndTheEnd) {
  World world({.seed = 1, .faults = 0, .steps = 5, .warmup = 2});
  EXPECT_EQ(world.Live(), "");
  std::vector<std::string> paths;
  for (const JournalEntry& entry : world.journal()) {
    if (const auto* f = std::get_if<CheckpointEntry>(&entry)) paths.push_back(f->path);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"/ckpt/warmup", "/ckpt/step-2", "/ckpt/step-4",
                                             "/ckpt/step-5"}));
}

TEST(CampaignStateTest, AFrozenPolicySearchesAndIsOnlySavedWhereItLearned) {
  World world({.seed = 1,
               .faults = 0,
               .steps = 5,
               .warmup = 2,
               .sets = {"train.frozen=true", "train.max_staleness=1"}});
  EXPECT_EQ(world.Live(), "");
  std::vector<std::string> paths;
  for (const JournalEntry& entry : world.journal()) {
    if (const auto* f = std::get_if<CheckpointEntry>(&entry)) paths.push_back(f->path);
    const auto* update = std::get_if<UpdateEntry>(&entry);
    if (update == nullptr || update->name.phase() == v1::UpdateName::WARMUP) continue;
    EXPECT_FALSE(update->response.applied());
    EXPECT_EQ(update->row.at("num_completions"), 8);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"/ckpt/warmup"}));
  EXPECT_EQ(Count<UpdateEntry>(world.journal()), 2 + 5);
  EXPECT_EQ(Count<VerdictEntry>(world.journal()), 5 * 2 * 4);
}

TEST(CampaignStateTest, WarmupAloneAndGrpoAloneBothEnd) {
  EXPECT_EQ(World({.seed = 1, .faults = 0, .steps = 0, .warmup = 3}).Live(), "");
  EXPECT_EQ(World({.seed = 1, .faults = 0, .steps = 2, .warmup = 0}).Live(), "");
}

TEST(CampaignStateTest, RowsHaveTheNamesPeopleLookFor) {
  World world({.seed = 5, .faults = 0, .steps = 3, .warmup = 1});
  ASSERT_EQ(world.Live(), "");
  for (const JournalEntry& entry : world.journal()) {
    const auto* update = std::get_if<UpdateEntry>(&entry);
    if (update == nullptr) continue;
    const bool warm = update->name.phase() == v1::UpdateName::WARMUP;
    EXPECT_EQ(update->row.count("reward"), warm ? 0u : 1u);
    EXPECT_EQ(update->row.count("lr"), 1u);
    EXPECT_EQ(update->row.count("loss"), 1u) << "what the trainer reports is passed on";
    if (warm) continue;
    for (const char* key : {"reward_std", "frac_reward_zero_std", "completions/mean_length",
                            "outcome/correct", "outcome/no_code", "time/generate", "time/measure",
                            "time/update", "time/wait_verdicts"}) {
      EXPECT_EQ(update->row.count(key), 1u) << key;
    }
    double shares = 0;
    for (const auto& [key, value] : update->row) {
      if (key.rfind("outcome/", 0) == 0 && key != "outcome/dropped") shares += value;
    }
    EXPECT_NEAR(shares, 1, 1e-9);
  }
}

TEST(CampaignStateTest, AProfiledStepSaysWhatTookLongest) {
  for (const bool profile : {false, true}) {
    World world({.seed = 5,
                 .faults = 0,
                 .steps = 3,
                 .warmup = 1,
                 .sets = {absl::StrCat("profile=", profile ? "true" : "false")}});
    ASSERT_EQ(world.Live(), "");
    const std::vector<v1::UpdateRequest> requests = *world.Requests();
    size_t updates = 0;
    for (const JournalEntry& entry : world.journal()) {
      const auto* update = std::get_if<UpdateEntry>(&entry);
      if (update == nullptr) continue;
      const v1::UpdateRequest& request = requests[updates++];
      EXPECT_EQ(request.profile(), profile);
      for (const char* key :
           {"profile/head_s", "profile/wait_rewards_s", "profile/communication_s"}) {
        EXPECT_EQ(update->row.count(key), profile ? 1u : 0u) << key;
      }
      if (!profile) continue;
      EXPECT_EQ(update->row.at("profile/wait_rewards_s"),
                request.has_grpo() ? update->row.at("time/wait_verdicts") : 0);
    }
    ASSERT_EQ(updates, 4u);
    const auto sentences = std::count_if(
        world.lines().begin(), world.lines().end(),
        [](const std::string& n) { return absl::StrContains(n, "The longest part is "); });
    EXPECT_EQ(static_cast<size_t>(sentences), profile ? updates : 0u);
  }
}

TEST(CampaignStateTest, UpdatesCarryWhatTheCampaignSays) {
  World world({.seed = 5,
               .faults = 0,
               .steps = 8,
               .warmup = 1,
               .sets = {"train.loss=gspo", "train.clip_high=0.5", "train.dual_clip=3",
                        "train.advantage_scale=leave_one_out", "train.kl_beta=0.1",
                        "train.kl_estimator=k2", "train.entropy_bonus=0.01",
                        "train.importance={mode: sequence_mask, clip_min: 0.5, clip_max: 3}",
                        "train.mask_truncated=true", "train.spike_factor=5",
                        "train.grad_norm_per_layer=true"}});
  ASSERT_EQ(world.Live(), "");
  std::map<std::pair<int64_t, std::pair<int, int>>, bool> cut;
  int truncated = 0, too_late = 0;
  const std::vector<v1::UpdateRequest> requests = *world.Requests();
  size_t updates = 0;
  for (const JournalEntry& entry : world.journal()) {
    if (const auto* rollout = std::get_if<RolloutEntry>(&entry)) {
      cut[{rollout->step, {rollout->completion.group_index(), rollout->completion.sample()}}] =
          rollout->completion.finish() != v1::Completion::STOP;
      too_late += rollout->completion.finish() == v1::Completion::DEADLINE ? 1 : 0;
    }
    const auto* update = std::get_if<UpdateEntry>(&entry);
    if (update == nullptr) continue;
    const v1::UpdateRequest& request = requests[updates++];
    EXPECT_EQ(request.optimizer().spike_factor(), 5);
    EXPECT_TRUE(request.optimizer().grad_norm_per_layer());
    if (!request.has_grpo()) continue;
    const v1::GrpoSettings& s = request.grpo().settings();
    EXPECT_EQ(s.ShortDebugString(),
              "loss: GSPO clip_low: 0.2 clip_high: 0.5 advantage_scale: LEAVE_ONE_OUT "
              "minibatches: 1 max_new_tokens: 256 temperature: 1 dual_clip: 3 kl_beta: 0.1 "
              "kl_estimator: K2 kl_reference: \"/ckpt/warmup\" importance: SEQUENCE_MASK "
              "importance_clip_min: 0.5 importance_clip_max: 3 entropy_bonus: 0.01 "
              "mask_truncated: true");
    for (const v1::RolloutGroup& group : request.grpo().groups()) {
      for (const v1::Rollout& r : group.rollouts()) {
        EXPECT_EQ(r.truncated(), (cut[{request.name().step(), {group.group_index(), r.sample()}}]));
        truncated += r.truncated() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(truncated, too_late);
  EXPECT_GT(too_late, 0) << "cut off by the deadline";
}

TEST(CampaignStateTest, TheReferenceIsThePolicyGrpoBeganWith) {
  const auto reference = [](int64_t warmup, std::vector<std::string> sets) {
    return World({.seed = 1, .warmup = warmup, .sets = std::move(sets)}).plan().ReferencePath();
  };
  EXPECT_EQ(reference(3, {}), "") << "none without a penalty";
  EXPECT_EQ(reference(3, {"train.kl_beta=0.1"}), "/ckpt/warmup");
  EXPECT_EQ(reference(0, {"train.kl_beta=0.1"}), "/model");
  EXPECT_EQ(reference(3, {"train.kl_beta=0.1", "train.kl_reference=/other"}), "/other");
}

TEST(CampaignStateTest, LengthIsTakenOffTheReward) {
  const auto rewards = [](std::vector<std::string> sets) {
    World world({.seed = 9, .faults = 0, .steps = 2, .warmup = 0, .sets = std::move(sets)});
    EXPECT_EQ(world.Live(), "");
    std::map<std::string, double> all;
    for (const JournalEntry& entry : world.journal()) {
      const auto* verdict = std::get_if<VerdictEntry>(&entry);
      if (verdict != nullptr && !verdict->dropped) {
        all[verdict->verdict.candidate_id()] = verdict->reward;
      }
    }
    return all;
  };
  const auto plain = rewards({}), shaped = rewards({"reward.overlong_buffer=256"});
  ASSERT_EQ(plain.size(), shaped.size());
  for (const auto& [id, reward] : plain) {  // the fake's completions have one token
    EXPECT_NEAR(shaped.at(id), reward - 1.0 / 256, 1e-12) << id;
  }
}

std::map<std::string, int> OutcomesOf(const World& world) {
  std::map<std::string, int> outcomes;
  for (const JournalEntry& entry : world.journal()) {
    if (const auto* verdict = std::get_if<VerdictEntry>(&entry)) {
      ++outcomes[v1::Outcome_Name(verdict->verdict.outcome())];
    }
  }
  return outcomes;
}

TEST(CampaignStateTest, APoisonedProgramEndsTwoWorkersAndNoNeighbourOfItsIsDropped) {
  World world({.seed = 4, .workers = 4, .shared = false, .group_size = 8, .poison = "program_5"});
  ASSERT_EQ(world.Live(), "");
  std::set<std::pair<int64_t, int>> poisoned_groups;
  int dropped = 0;
  for (const JournalEntry& entry : world.journal()) {
    if (const auto* rollout = std::get_if<RolloutEntry>(&entry)) {
      if (absl::StrContains(rollout->completion.text(), "program_5")) {
        poisoned_groups.insert({rollout->step, rollout->completion.group_index()});
        ++dropped;
      }
    }
  }
  EXPECT_GE(poisoned_groups.size(), 5u);
  EXPECT_EQ(world.poisoned(),
            static_cast<int>(poisoned_groups.size()) * MeasureScheduler::kWorkerLossesMax)
      << "equal programs of a group are measured as one";
  EXPECT_EQ(OutcomesOf(world)["INFRASTRUCTURE_ERROR"], dropped) << "and nobody else's";
}

TEST(CampaignStateTest, StragglersAreTriedElsewhereBesides) {
  const auto live = [](Seconds slow) {
    auto world = std::make_unique<World>(
        WorldOptions{.seed = 4, .workers = 3, .shared = false, .group_size = 8, .slow = slow});
    EXPECT_EQ(world->Live(), "");
    return world;
  };
  const auto usual = live(0), slow = live(100);
  EXPECT_EQ(usual->hedges(), 0);
  EXPECT_GT(slow->hedges(), 3);
  EXPECT_EQ(OutcomesOf(*slow).count("INFRASTRUCTURE_ERROR"), 0u);
  // The first three verdicts of a step are waited for, until it is known what is usual.
  EXPECT_LT(slow->lived(), usual->lived() + 200);
}

// ---- single situations, driven by hand ----------------------------------------------------------

class Driven : public testing::Test {
 protected:
  Driven() : world_({.seed = 1, .faults = 0, .steps = 2, .warmup = 0, .prompts_per_step = 1}) {}

  std::vector<Action> Send(CampaignEvent event, Seconds now) {
    std::vector<Action> actions = state_.Handle({std::move(event)}, now);
    for (const Action& action : actions) {
      if (const auto* m = std::get_if<action::Measure>(&action)) measures_.push_back(*m);
      if (const auto* p = std::get_if<action::Probe>(&action)) probe_ = *p;
      if (const auto* g = std::get_if<action::Generate>(&action)) generate_ = *g;
      if (const auto* f = std::get_if<action::Finish>(&action)) finish_ = f->status;
    }
    return actions;
  }
  template <typename T>
  static const T* Find(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (const T* found = std::get_if<T>(&action)) return found;
    }
    return nullptr;
  }
  // The only worker answers its first PutProblem with `status`.
  void RefuseProblem(const absl::Status& status) {
    Send(event::ServiceReady{0}, 0);
    v1::WorkerInfo info;
    info.set_slots(1);
    const std::vector<Action> actions = Send(event::WorkerProbed{probe_.call, info}, 0);
    const auto* put = Find<action::PutProblem>(actions);
    ASSERT_NE(put, nullptr);
    Send(event::CallFailed{put->call, status}, 1);
  }
  // Brings the trainer to generate, and one worker up: on the trainer's host if `shared`, else on a
  // host of its own, where it learns the problems at once.
  void Begin(bool shared) {
    Send(event::ServiceReady{kTrainer}, 0);
    v1::TrainerInfo trainer;
    trainer.set_host_id("t");
    trainer.set_threads(2);
    const auto load =
        *Find<action::LoadPolicy>(Send(event::TrainerProbed{probe_.call, trainer}, 0));
    Send(event::ServiceReady{0}, 0);
    v1::WorkerInfo worker;
    worker.set_host_id(shared ? "t" : "w");
    worker.set_hostname("w");
    worker.set_cores(2);
    worker.set_slots(1);
    const uint64_t worker_probe = probe_.call;
    event::PolicyLoaded loaded{load.call};
    loaded.response.mutable_holder()->set_epoch(1);
    Send(loaded, 0);
    std::vector<Action> actions = Send(event::WorkerProbed{worker_probe, worker}, 0);
    // A shared worker calibrates once the trainer is quiet; here it still generates.
    v1::Calibration calibration;
    calibration.mutable_expert()->set_speedup(4);
    while (const auto* put = Find<action::PutProblem>(actions)) {
      actions = Send(event::ProblemKnown{put->call, calibration}, 0);
    }
  }

  World world_;
  CampaignState state_{&world_.plan(), {"worker"}};
  std::vector<action::Measure> measures_;
  action::Probe probe_;
  action::Generate generate_;
  absl::Status finish_;
};

TEST_F(Driven, ATrainerThatNeverComesEndsTheCampaignByName) {
  Send(event::Tick{}, 0);
  ASSERT_EQ(state_.Waits().size(), 1u);
  EXPECT_EQ(state_.Waits()[0].name, "the trainer to start");
  Send(event::Tick{}, 179);
  EXPECT_FALSE(state_.finished());
  Send(event::Tick{}, 180);
  EXPECT_TRUE(state_.finished());
  EXPECT_EQ(finish_.message(), "the trainer has not answered for 180 s: no answer");
}

TEST_F(Driven, AnOnlyWorkerThatHangsWhileItPreparesEndsTheCampaign) {
  Send(event::ServiceReady{kTrainer}, 0);
  v1::TrainerInfo trainer;
  trainer.set_host_id("t");
  Send(event::TrainerProbed{probe_.call, trainer}, 0);
  Send(event::ServiceReady{0}, 0);
  const auto put = [this](Seconds now) {
    const std::vector<Action> actions = Send(event::WorkerProbed{probe_.call, {}}, now);
    const auto* found = Find<action::PutProblem>(actions);
    EXPECT_NE(found, nullptr);
    return found != nullptr ? found->call : 0;
  };
  for (int failure = 1; failure < Membership::kPutFailuresMax; ++failure) {
    Send(event::CallFailed{put(0), absl::InternalError("no compiler")}, 0);
    Send(event::ServiceReady{0}, 0);  // at which it is probed at once
  }
  put(0);
  Send(event::Tick{}, 419);
  ASSERT_FALSE(state_.finished());
  EXPECT_EQ(state_.StatusLine(419),
            "step 1: 0/4 completions, 0 verdicts; 419 s waiting for Trainer.LoadCheckpoint /model, "
            "419 s for worker to calibrate "
            "problem a");
  Send(event::Tick{}, 420);
  EXPECT_EQ(finish_.message(), "no worker is left: it can't take problem a: no answer in 420 s");
}

TEST_F(Driven, AnUnsoundProblemEndsTheCampaign) {
  RefuseProblem(absl::InvalidArgumentError("the expert is wrong"));
  EXPECT_EQ(finish_.message(),
            "problem a is not sound: the expert is wrong; try: whet problem check /a.md");
}

TEST_F(Driven, AGroupStaysOnItsCpuModelThroughAResume) {
  CampaignState state(&world_.plan(), {"worker a", "worker b"});
  const int group_size = world_.plan().campaign.train().group_size();
  DurableState durable(&world_.plan());
  durable.Apply(PromptEntry{1, {}});
  for (int sample = 0; sample < group_size; ++sample) {
    RolloutEntry rollout;
    rollout.step = 1;
    rollout.completion.set_sample(sample);
    rollout.completion.set_text(absl::StrCat("```cpp\nint f", sample, "();\n```"));
    durable.Apply(rollout);
  }
  VerdictEntry before;
  before.step = 1;
  before.verdict.set_outcome(v1::CORRECT);
  before.verdict.set_timed(true);
  before.verdict.set_worker("second");
  durable.Apply(before);
  state.Restore(std::move(durable));
  std::vector<action::PutProblem> puts;
  for (const int w : {0, 1}) {
    const auto probe = *Find<action::Probe>(state.Handle({event::ServiceReady{w}}, 0));
    v1::WorkerInfo info;
    info.set_hostname(w == 0 ? "first" : "second");
    info.set_cpu_model(w == 0 ? "A" : "B");
    info.set_slots(group_size);
    puts.push_back(
        *Find<action::PutProblem>(state.Handle({event::WorkerProbed{probe.call, info}}, 0)));
  }
  EXPECT_EQ(Find<action::Measure>(state.Handle({event::ProblemKnown{puts[0].call, {}}}, 0)),
            nullptr)
      << "the first is idle, but of another model";
  int measures = 0;
  for (const Action& action : state.Handle({event::ProblemKnown{puts[1].call, {}}}, 0)) {
    const auto* measure = std::get_if<action::Measure>(&action);
    if (measure == nullptr) continue;
    ++measures;
    EXPECT_EQ(measure->worker, 1);
  }
  EXPECT_EQ(measures, group_size - 1);
}

TEST_F(Driven, AWorkerThatRefusesIsNotAskedAgain) {
  RefuseProblem(absl::FailedPreconditionError("no control groups"));
  EXPECT_EQ(finish_.message(), "no worker is left: it can't take problem a: no control groups");
}

TEST_F(Driven, StopEndsEverythingAndSaysWhere) {
  Send(event::ServiceReady{kTrainer}, 0);
  const std::vector<Action> actions = Send(event::Stop{}, 1);
  EXPECT_NE(Find<action::CancelCall>(actions), nullptr) << "the probe in flight";
  EXPECT_TRUE(absl::IsCancelled(finish_));
  EXPECT_EQ(finish_.message(), "stopped before the first update");
  EXPECT_TRUE(Send(event::Tick{}, 2).empty());
}

TEST_F(Driven, StopSaysWhatResumingWillDo) {
  CampaignState state(&world_.plan(), {"worker"});
  v1::UpdateRequest request;
  *request.mutable_name() = world_.plan().NameOf(1);
  DurableState durable(&world_.plan());
  durable.Apply(UpdateEntry{request.name()});
  RolloutEntry rollout;
  rollout.step = 2;
  durable.Apply(rollout);
  state.Restore(std::move(durable));
  const std::vector<Action> actions = state.Handle({event::Stop{}}, 0);
  const auto* finish = Find<action::Finish>(actions);
  ASSERT_NE(finish, nullptr);
  EXPECT_EQ(finish->status.message(),
            "stopped after step 1; resuming repeats 1 update(s) from the journal; of step 2 it "
            "keeps 1 rollout(s) and 1 verdict(s)")
      << "an answer without code needs no worker";
}

TEST_F(Driven, AFullDiskAtACheckpointIsNotTriedAgain) {
  World world({.seed = 1, .faults = 0, .steps = 1, .warmup = 1});
  CampaignState state(&world.plan(), {"worker"});
  v1::UpdateRequest request;
  *request.mutable_name() = world.plan().NameOf(1);
  DurableState durable(&world.plan());
  durable.Apply(UpdateEntry{request.name()});
  state.Restore(std::move(durable));
  const auto probe = *Find<action::Probe>(state.Handle({event::ServiceReady{kTrainer}}, 0));
  v1::TrainerInfo info;
  info.set_campaign_id(world.plan().campaign_id);
  info.set_model("/model");
  *info.mutable_last_update() = request.name();
  const auto keep =
      *Find<action::LoadPolicy>(state.Handle({event::TrainerProbed{probe.call, info}}, 0));
  event::PolicyLoaded kept{keep.call};
  *kept.response.mutable_info() = info;
  kept.response.mutable_holder()->set_epoch(1);
  const auto save = *Find<action::SaveCheckpoint>(state.Handle({kept}, 0));
  const std::vector<Action> actions = state.Handle(
      {event::CallFailed{save.call, absl::ResourceExhaustedError("the disk is full")}}, 1);
  const auto* finish = Find<action::Finish>(actions);
  ASSERT_NE(finish, nullptr);
  EXPECT_EQ(finish->status.message(), "Trainer.SaveCheckpoint warm-up 1: the disk is full");
}

TEST_F(Driven, ADeterministicRunGoesOnWithAsManyRanksAsItHad) {
  CampaignPlan plan = World({.seed = 1, .faults = 0, .steps = 1, .warmup = 2}).plan();
  // Returns how the campaign ends when a trainer of so many ranks shows up after the first update.
  const auto finish = [&](bool deterministic, int ranks) {
    plan.campaign.set_deterministic(deterministic);
    UpdateEntry update;
    update.name = plan.NameOf(1);
    (*update.response.mutable_metrics())["perf/ranks"] = 2;
    DurableState durable(&plan);
    durable.Apply(update);
    CampaignState state(&plan, {"worker"});
    state.Restore(std::move(durable));
    const auto probe = *Find<action::Probe>(state.Handle({event::ServiceReady{kTrainer}}, 0));
    v1::TrainerInfo info;
    info.set_world_size(ranks);
    const std::vector<Action> actions = state.Handle({event::TrainerProbed{probe.call, info}}, 0);
    const auto* end = Find<action::Finish>(actions);
    EXPECT_EQ(end == nullptr, Find<action::LoadPolicy>(actions) != nullptr);
    return end == nullptr ? absl::OkStatus() : end->status;
  };
  EXPECT_TRUE(finish(true, 2).ok());
  EXPECT_TRUE(finish(false, 4).ok()) << "sums differ in their last bits only";
  const absl::Status refused = finish(true, 4);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("computed by 2 ranks"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("whet-trainer launch --nproc 2"));
}

TEST_F(Driven, AFailedCandidateIsAskedForAgainByAnotherNameThenGivenUp) {
  Begin(/*shared=*/false);
  EXPECT_FALSE(state_.finished());
  const std::vector<Wait> waits = state_.Waits();
  ASSERT_FALSE(waits.empty());
  EXPECT_EQ(waits[0].name, "Trainer.Generate step 1");
  // One rollout arrives; the worker fails it as often as it is asked.
  v1::Completion completion;
  completion.set_text("```cpp\nint f();\n```");
  Send(event::Completion{generate_.call, completion}, 1);
  ASSERT_EQ(measures_.size(), 1u);
  EXPECT_TRUE(measures_[0].request.time()) << "a host of its own may time at once";
  Seconds now = 1;
  for (int i = 0; i < 200 && measures_.size() < 5; ++i) {
    now += 5;
    Send(event::Progress{0, {}}, now);
    v1::Verdict verdict;
    verdict.set_outcome(v1::INFRASTRUCTURE_ERROR);
    verdict.set_detail("no memory");
    Send(event::VerdictArrived{measures_.back().call, verdict}, now);
  }
  EXPECT_EQ(measures_.size(), static_cast<size_t>(MeasureScheduler::kAttemptsMax));
  EXPECT_NE(measures_[0].request.candidate_id(), measures_[1].request.candidate_id())
      << "a verdict of the same id would be repeated";
  const CandidateRecord& record = state_.durable().open_steps().front().groups[0].samples[0];
  EXPECT_FALSE(record.verdict.has_value()) << "what becomes of it the whole step says";
}

}  // namespace
}  // namespace whetstone
