#include "coordinator/campaign/trainer_driver.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "coordinator/campaign/deadlines.h"
#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

constexpr TrainerDriver::Allowed kAll = {.compute = true, .update = true};
constexpr Seconds kPatience = 180;  // the default of patience.trainer_s

// The plan is one warm-up update, then one step of one group of two rollouts.
class TrainerDriverTest : public testing::Test {
 protected:
  explicit TrainerDriverTest(const TestPlanOptions& options = {.steps = 1,
                                                               .warmup = 1,
                                                               .group_size = 2,
                                                               .prompts_per_step = 1})
      : plan_(MakeTestPlan(options)) {
    trainer_.Begin();
  }

  // Returns the one action since the last look.
  template <typename T>
  T Only() {
    std::vector<Action> actions = context_.TakeActions();
    EXPECT_EQ(actions.size(), 1u);
    if (actions.size() != 1 || !std::holds_alternative<T>(actions[0])) {
      ADD_FAILURE() << "another action";
      return {};
    }
    return std::get<T>(std::move(actions[0]));
  }
  template <typename T>
  T Scheduled(const TrainerDriver::Allowed& allowed = kAll) {
    trainer_.Schedule(allowed);
    return Only<T>();
  }
  // The trainer is there and says what it holds.
  void Probed(const v1::TrainerInfo& info = {}) {
    trainer_.On(event::ServiceReady{kTrainer});
    trainer_.On(event::TrainerProbed{Scheduled<action::Probe>().call, info});
  }
  // The trainer holds the policy that another process of this campaign left there. Returns what it
  // tells.
  v1::TrainerInfo ProbedOwn(v1::TrainerInfo info) {
    info.set_campaign_id(plan_.campaign_id);
    info.set_model("/model");
    Probed(info);
    const auto keep = Scheduled<action::LoadPolicy>();
    EXPECT_EQ(keep.path, "");
    v1::LoadCheckpointResponse kept = Held(77);
    *kept.mutable_info() = info;
    trainer_.On(event::PolicyLoaded{keep.call, kept});
    return info;
  }
  v1::LoadCheckpointResponse Held(uint64_t epoch) const {
    v1::LoadCheckpointResponse response;
    response.mutable_holder()->set_campaign_id(plan_.campaign_id);
    response.mutable_holder()->set_epoch(epoch);
    return response;
  }
  void Loaded(uint64_t epoch) {
    trainer_.On(event::PolicyLoaded{Scheduled<action::LoadPolicy>().call, Held(epoch)});
    Only<action::Record>();
  }
  static v1::TrainerInfo HeldBy(const std::string& campaign) {
    v1::TrainerInfo info;
    info.set_campaign_id(campaign);
    info.set_model("/model");
    info.set_held_by(campaign);
    info.set_heard_s(3);
    return info;
  }
  v1::UpdateRequest Updated() {
    const auto update = Scheduled<action::Update>();
    std::optional<v1::UpdateRequest> done = trainer_.On(event::UpdateDone{update.call, {}});
    EXPECT_TRUE(done.has_value());
    return done.value_or(v1::UpdateRequest());
  }

  const CampaignPlan plan_;
  CampaignContext context_{&plan_};
  TrainerDriver trainer_{&context_};
};

TEST_F(TrainerDriverTest, LoadsUpdatesSavesAndGenerates) {
  EXPECT_FALSE(trainer_.Idle()) << "it is not there yet";
  trainer_.On(event::ServiceReady{kTrainer});
  const auto probe = Scheduled<action::Probe>({});  // nothing need be quiet for a probe
  EXPECT_FALSE(trainer_.computes());
  trainer_.On(event::TrainerProbed{probe.call, {}});
  trainer_.Schedule({});
  EXPECT_TRUE(context_.TakeActions().empty()) << "it may not compute now";
  const auto load = Scheduled<action::LoadPolicy>();
  EXPECT_EQ(load.path, "/model");
  EXPECT_TRUE(trainer_.computes());
  v1::LoadCheckpointResponse loaded = Held(5);
  loaded.mutable_info()->set_model_sha256("ab12");
  trainer_.On(event::PolicyLoaded{load.call, loaded});
  const JournalEntry entry = Only<action::Record>().entry;
  EXPECT_EQ(std::get<LoadEntry>(entry).path, "/model");
  EXPECT_EQ(std::get<LoadEntry>(entry).model_sha256, "ab12");
  context_.Record(UpdateEntry{Updated().name()});
  Only<action::Record>();
  const auto save = Scheduled<action::SaveCheckpoint>();
  EXPECT_EQ(save.path, "/ckpt/warmup");
  EXPECT_EQ(save.holder.epoch(), 5u);
  trainer_.On(event::CheckpointSaved{save.call, {}});
  EXPECT_TRUE(std::holds_alternative<CheckpointEntry>(Only<action::Record>().entry));
  const auto generate = Scheduled<action::Generate>({.compute = true});
  EXPECT_EQ(generate.request.step(), 1);
  EXPECT_EQ(generate.request.holder().epoch(), 5u);
  v1::Completion completion;
  completion.set_sample(1);
  EXPECT_EQ(trainer_.On(event::Completion{generate.call, completion}), 1);
  EXPECT_EQ(trainer_.On(event::Completion{generate.call, completion}), std::nullopt) << "a repeat";
  EXPECT_TRUE(std::holds_alternative<RolloutEntry>(Only<action::Record>().entry));
  completion.set_sample(2);
  EXPECT_EQ(trainer_.On(event::Completion{generate.call, completion}), std::nullopt)
      << "a group has two";
  trainer_.On(event::GenerateEnded{generate.call});
  Only<action::Notice>();
  EXPECT_FALSE(trainer_.Idle()) << "one rollout is missing: it is asked again a little later";
}

TEST_F(TrainerDriverTest, ATrainerThatForgotGetsTheJournalsUpdatesAgain) {
  DurableState durable(&plan_);
  UpdateEntry update;
  update.name = plan_.NameOf(1);
  durable.Apply(update);
  context_.Restore(std::move(durable));
  Probed();
  const auto load = Scheduled<action::LoadPolicy>();
  trainer_.On(event::PolicyLoaded{load.call, Held(5)});
  Only<action::Record>();
  const auto replay = Scheduled<action::ReplayUpdate>();
  EXPECT_EQ(replay.name.phase(), v1::UpdateName::WARMUP);
  EXPECT_EQ(trainer_.On(event::UpdateDone{replay.call, {}}), std::nullopt)
      << "it is in the journal already";
  Scheduled<action::SaveCheckpoint>();
}

TEST_F(TrainerDriverTest, AnUpdateWhoseAnswerWasLostIsAskedForAgain) {
  v1::TrainerInfo info;
  *info.mutable_last_update() = plan_.NameOf(1);
  ProbedOwn(info);
  EXPECT_EQ(Updated().name().step(), 1);
}

TEST_F(TrainerDriverTest, APolicyThatIsNotWhatWeThinkIsReplacedWithoutAskingTwice) {
  Probed();
  Loaded(5);
  const auto update = Scheduled<action::Update>();
  EXPECT_EQ(update.request.holder().epoch(), 5u);
  trainer_.On(event::CallFailed{update.call, absl::FailedPreconditionError("nothing is loaded")});
  Only<action::Notice>();
  EXPECT_FALSE(trainer_.Idle());
  std::vector<Wait> waits;  // seed 437 of the simulation: there was none
  trainer_.AddWaits(&waits);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].deadline, kRetryDelay);
  context_.set_now(kRetryDelay);
  Loaded(6);
  EXPECT_EQ(Scheduled<action::Update>().request.holder().epoch(), 6u);
}

TEST_F(TrainerDriverTest, ATrainerThatServesAnotherIsWaitedForByName) {
  Probed(HeldBy("b-2"));
  EXPECT_EQ(Only<action::Notice>().text,
            "waiting for the trainer, which serves campaign b-2, heard of 3 s ago");
  EXPECT_FALSE(trainer_.Idle());
  std::vector<Wait> waits;
  trainer_.AddWaits(&waits);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].name, "the trainer, which serves campaign b-2, heard of 3 s ago");
  EXPECT_EQ(waits[0].deadline, kPatience);
  EXPECT_TRUE(trainer_.lost());
  context_.set_now(kPatience - 1);
  ASSERT_TRUE(trainer_.Idle());
  trainer_.On(event::TrainerProbed{Scheduled<action::Probe>().call, HeldBy("b-2")});
  trainer_.CheckDeadlines();
  EXPECT_FALSE(context_.end().has_value());
  context_.set_now(kPatience);
  trainer_.CheckDeadlines();
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(context_.end()->message(),
            "the trainer serves campaign b-2, heard of 3 s ago, and has not become free in 180 s: "
            "stop that campaign or wait for its end, or take the trainer from it with --steal");
}

TEST_F(TrainerDriverTest, ATrainerThatBecomesFreeIsTaken) {
  Probed(HeldBy("b-2"));
  Only<action::Notice>();
  context_.set_now(kRetryDelay);
  v1::TrainerInfo free = HeldBy("b-2");
  free.clear_held_by();
  trainer_.On(event::TrainerProbed{Scheduled<action::Probe>().call, free});
  const auto load = Scheduled<action::LoadPolicy>();
  EXPECT_EQ(load.path, "/model");
  EXPECT_FALSE(load.steal);
  // Another one was faster.
  trainer_.On(event::CallFailed{load.call, absl::FailedPreconditionError("it serves c-3")});
  Only<action::Notice>();
  context_.set_now(2 * kRetryDelay);
  trainer_.On(event::TrainerProbed{Scheduled<action::Probe>().call, HeldBy("c-3")});
  EXPECT_TRUE(trainer_.lost());
}

TEST_F(TrainerDriverTest, OthersThatAreFasterAgainAndAgainAreNoFailure) {
  Probed(HeldBy("b-0"));
  Only<action::Notice>();
  for (int race = 1; race <= 2 * TrainerDriver::kFailuresMax; ++race) {
    const Seconds now = race * (kPatience - 1);
    context_.set_now(now);
    trainer_.CheckDeadlines();
    trainer_.On(event::TrainerProbed{Scheduled<action::Probe>().call, {}});
    trainer_.On(event::CallFailed{Scheduled<action::LoadPolicy>().call,
                                  absl::FailedPreconditionError("it serves another")});
    Only<action::Notice>();
    context_.set_now(now + kRetryDelay);
    const std::string other = "b-" + std::to_string(race);
    trainer_.On(event::TrainerProbed{Scheduled<action::Probe>().call, HeldBy(other)});
    EXPECT_NE(Only<action::Notice>().text.find(other), std::string::npos);
  }
  EXPECT_FALSE(context_.end().has_value());
  // One that follows another unseen is waited for anew, too.
  context_.set_now(context_.now() + kPatience - 1);
  trainer_.On(event::TrainerProbed{Scheduled<action::Probe>().call, HeldBy("c-3")});
  Only<action::Notice>();
  context_.set_now(context_.now() + 2);
  trainer_.CheckDeadlines();
  EXPECT_FALSE(context_.end().has_value());
}

TEST_F(TrainerDriverTest, ATrainerThatDoesNotKnowItsHolderIsOfAnEarlierVersion) {
  Probed();
  v1::LoadCheckpointResponse loaded;
  loaded.mutable_info()->set_version("0.0.9");
  trainer_.On(event::PolicyLoaded{Scheduled<action::LoadPolicy>().call, loaded});
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(context_.end()->message(),
            "the trainer is of version 0.0.9, which does not know who holds it; install this "
            "program's version there");
}

TEST_F(TrainerDriverTest, ATrainerThatIsAlwaysLostInTheSameUpdateEndsTheCampaign) {
  for (int loss = 1; loss <= TrainerDriver::kLossesMax; ++loss) {
    EXPECT_FALSE(context_.end().has_value());
    Probed();
    Loaded(5);
    const auto update = Scheduled<action::Update>();
    // Its call may fail before.
    if (loss % 2 == 0) trainer_.On(event::CallFailed{update.call, absl::UnavailableError("reset")});
    trainer_.On(event::ServiceLost{kTrainer, "it was killed"});
    context_.TakeActions();
  }
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(context_.end()->message(),
            "the trainer was lost 4 times, the last time in Trainer.Update warm-up 1, and got no "
            "further between; its log says why: it was killed");
}

TEST_F(TrainerDriverTest, LossesBetweenWhichItGetsFurtherOrDoesNothingDoNotCount) {
  const auto lost = [this] {
    trainer_.On(event::ServiceLost{kTrainer, "the tunnel broke"});
    context_.TakeActions();
    EXPECT_FALSE(context_.end().has_value());
  };
  for (int loss = 1; loss < TrainerDriver::kLossesMax; ++loss) {
    Probed();
    Loaded(5);
    Scheduled<action::Update>();
    lost();
  }
  for (int loss = 1; loss <= TrainerDriver::kLossesMax; ++loss) {
    Probed();
    Loaded(5);
    lost();
  }
  Probed();
  Loaded(5);
  context_.Record(UpdateEntry{Updated().name()});
  Only<action::Record>();
  for (int loss = 1; loss < TrainerDriver::kLossesMax; ++loss) {
    Scheduled<action::SaveCheckpoint>();
    lost();
    Probed();
    Loaded(5);
    trainer_.On(event::UpdateDone{Scheduled<action::ReplayUpdate>().call, {}});
  }
}

TEST_F(TrainerDriverTest, ATrainerThatWasTakenFromUsIsNeverTakenBack) {
  trainer_.Steal();
  Probed(HeldBy("b-2"));
  const auto load = Scheduled<action::LoadPolicy>();
  EXPECT_TRUE(load.steal);
  trainer_.On(event::PolicyLoaded{load.call, Held(5)});
  Only<action::Record>();
  trainer_.On(event::CallFailed{Scheduled<action::Update>().call,
                                absl::AbortedError("campaign b-2 has taken the trainer")});
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->code(), absl::StatusCode::kAborted);
  EXPECT_EQ(context_.end()->message(),
            "Trainer.Update warm-up 1: campaign b-2 has taken the trainer");
  EXPECT_TRUE(context_.TakeActions().empty());
}

TEST_F(TrainerDriverTest, ATrainerThatServesAnotherWhenItIsBackIsLost) {
  trainer_.Steal();
  Probed();
  Loaded(5);
  trainer_.On(event::ServiceLost{kTrainer, "the tunnel broke"});
  Only<action::Notice>();
  Probed(HeldBy("b-2"));
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->message(),
            "the trainer serves campaign b-2, heard of 3 s ago, no longer this one; --steal takes "
            "it back");
}

TEST_F(TrainerDriverTest, SignsOfLifeGoOutWhileThereIsNothingToAsk) {
  Probed();
  Loaded(5);
  constexpr TrainerDriver::Allowed kBusy = {};
  trainer_.Schedule(kBusy);
  EXPECT_TRUE(context_.TakeActions().empty());
  for (const Seconds now : {kSignOfLife, 2 * kSignOfLife}) {
    context_.set_now(now - 1);
    trainer_.Schedule(kBusy);
    EXPECT_TRUE(context_.TakeActions().empty());
    context_.set_now(now);
    const auto probe = Scheduled<action::Probe>(kBusy);
    EXPECT_EQ(probe.holder.epoch(), 5u);
    v1::TrainerInfo info = HeldBy(plan_.campaign_id);
    *info.mutable_last_update() = plan_.NameOf(2);  // it is not looked at
    if (now == kSignOfLife) trainer_.On(event::TrainerProbed{probe.call, info});
  }
  EXPECT_EQ(Updated().name().step(), 1) << "nothing waits for the answer";
  trainer_.Release();
  EXPECT_EQ(Only<action::ReleaseTrainer>().holder.epoch(), 5u);
}

TEST_F(TrainerDriverTest, ASignOfLifeMayFindTheTrainerTaken) {
  Probed();
  Loaded(5);
  context_.set_now(kSignOfLife);
  const auto probe = Scheduled<action::Probe>({});
  trainer_.On(event::TrainerProbed{probe.call, HeldBy("b-2")});
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->code(), absl::StatusCode::kAborted);
}

// The epoch of a load whose answer was lost is nobody's.
TEST_F(TrainerDriverTest, ALoadWithoutAnswerIsNoLossOfTheTrainer) {
  Probed();
  Loaded(5);
  trainer_.On(event::CallFailed{Scheduled<action::Update>().call,
                                absl::FailedPreconditionError("nothing is loaded")});
  Only<action::Notice>();
  context_.set_now(kRetryDelay);
  trainer_.On(event::CallFailed{Scheduled<action::LoadPolicy>().call,
                                absl::UnavailableError("connection reset")});
  Only<action::Notice>();
  context_.set_now(2 * kRetryDelay);
  trainer_.On(event::TrainerProbed{Scheduled<action::Probe>().call, HeldBy(plan_.campaign_id)});
  EXPECT_EQ(Scheduled<action::LoadPolicy>().path, "") << "it keeps what it loaded";
}

// The process is started again behind a tunnel that stays up, and listens only when CUDA is there.
TEST_F(TrainerDriverTest, ATrainerThatRefusesIsWaitedForUntilItsPatienceEnds) {
  const auto refused_until = [this](Seconds end) {
    for (Seconds now = context_.now(); now < end; now += kRetryDelay) {
      context_.set_now(now);
      trainer_.CheckDeadlines();
      ASSERT_TRUE(trainer_.Idle());
      const auto probe = Scheduled<action::Probe>();
      std::vector<Wait> waits;
      trainer_.AddWaits(&waits);
      ASSERT_EQ(waits.size(), 1u);
      EXPECT_EQ(waits[0].since, end - kPatience) << "it counts from when the trainer went";
      trainer_.On(event::CallFailed{probe.call, absl::UnavailableError("refused")});
      ASSERT_FALSE(context_.end().has_value()) << context_.end()->message();
      EXPECT_FALSE(trainer_.Idle()) << "it is not asked again at once";
    }
    context_.set_now(end - 0.5);
  };
  trainer_.On(event::ServiceReady{kTrainer});
  refused_until(kPatience);
  trainer_.On(event::ServiceReady{kTrainer});
  trainer_.On(event::TrainerProbed{Scheduled<action::Probe>().call, {}});
  Loaded(5);
  trainer_.On(event::CallFailed{Scheduled<action::Update>().call, absl::UnavailableError("reset")});
  Only<action::Notice>();
  const Seconds gone = context_.now();
  context_.set_now(gone + kRetryDelay);
  refused_until(gone + kPatience);
  context_.set_now(gone + kPatience);
  trainer_.CheckDeadlines();
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->message(), "the trainer has not answered for 180 s: refused");
}

TEST_F(TrainerDriverTest, CallsThatFailWhileTheTrainerIsThereEndTheCampaign) {
  const v1::TrainerInfo info = ProbedOwn({});
  for (int failure = 1; failure <= TrainerDriver::kFailuresMax; ++failure) {
    EXPECT_FALSE(context_.end().has_value());
    trainer_.On(
        event::CallFailed{Scheduled<action::Update>().call, absl::InternalError("no memory")});
    if (context_.end()) break;
    Only<action::Notice>();
    context_.set_now(failure * kRetryDelay);
    trainer_.On(event::TrainerProbed{Scheduled<action::Probe>().call, info});
  }
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->message(), "Trainer.Update warm-up 1: no memory");
}

// It dies, and is started again, behind a tunnel that stays up: nobody says that it was lost.
TEST_F(TrainerDriverTest, ATrainerThatDiesInTheSameUpdateEachTimeEndsTheCampaign) {
  trainer_.On(event::ServiceReady{kTrainer});
  for (int failure = 1; failure <= TrainerDriver::kFailuresMax; ++failure) {
    ASSERT_FALSE(context_.end().has_value());
    trainer_.On(event::TrainerProbed{Scheduled<action::Probe>().call, {}});
    Loaded(5);
    trainer_.On(
        event::CallFailed{Scheduled<action::Update>().call, absl::UnavailableError("reset")});
    context_.TakeActions();
    context_.set_now(failure * kRetryDelay);
  }
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->message(), "Trainer.Update warm-up 1: reset");
}

TEST_F(TrainerDriverTest, AStreamThatBreaksAgainAndAgainButGetsFurtherIsNoFailure) {
  v1::TrainerInfo told;
  *told.mutable_last_update() = plan_.NameOf(1);
  DurableState durable(&plan_);
  UpdateEntry update;
  update.name = plan_.NameOf(1);
  durable.Apply(update);
  durable.Apply(CheckpointEntry{plan_.NameOf(1), "/ckpt/warmup", "c0ffee", 0});
  context_.Restore(std::move(durable));
  const v1::TrainerInfo info = ProbedOwn(told);
  for (int failure = 1; failure < 2 * (TrainerDriver::kFailuresMax - 1); ++failure) {
    const auto generate = Scheduled<action::Generate>({.compute = true});
    if (failure == TrainerDriver::kFailuresMax - 1) {
      EXPECT_EQ(trainer_.On(event::Completion{generate.call, {}}), 1);
      Only<action::Record>();
    }
    trainer_.On(event::CallFailed{generate.call, absl::UnavailableError("stream broke")});
    Only<action::Notice>();
    ASSERT_FALSE(context_.end().has_value()) << failure;
    context_.set_now(failure * kRetryDelay);
    trainer_.On(event::TrainerProbed{Scheduled<action::Probe>().call, info});
  }
}

TEST_F(TrainerDriverTest, AFrozenTrainerIsCancelledByNameAndGivenUpLater) {
  Probed();
  const uint64_t load = Scheduled<action::LoadPolicy>().call;
  std::vector<Wait> waits;
  trainer_.AddWaits(&waits);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].name, "Trainer.LoadCheckpoint /model");
  EXPECT_EQ(waits[0].deadline, kLoadDeadline);
  context_.set_now(kLoadDeadline);
  trainer_.CheckDeadlines();
  const std::vector<Action> actions = context_.TakeActions();
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(std::get<action::CancelCall>(actions[0]).call, load);
  EXPECT_EQ(std::get<action::Notice>(actions[1]).text,
            "Trainer.LoadCheckpoint /model failed, asking again: Trainer.LoadCheckpoint /model: no "
            "answer in 900 s");
  EXPECT_FALSE(context_.end().has_value());
  trainer_.On(event::PolicyLoaded{load});  // too late
  EXPECT_FALSE(trainer_.computes());
  context_.set_now(kLoadDeadline + kPatience);
  trainer_.CheckDeadlines();
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->message(),
            "the trainer has not answered for 180 s: Trainer.LoadCheckpoint /model: no answer in "
            "900 s");
}

TEST_F(TrainerDriverTest, AnOlderCheckpointIsTriedBeforeTheCampaignEnds) {
  DurableState durable(&plan_);
  UpdateEntry update;
  update.name = plan_.NameOf(1);
  durable.Apply(update);
  durable.Apply(CheckpointEntry{plan_.NameOf(1), "/ckpt/warmup", "c0ffee", 0});
  context_.Restore(std::move(durable));
  Probed();
  for (const char* path : {"/ckpt/warmup", "/model"}) {
    const auto load = Scheduled<action::LoadPolicy>();
    EXPECT_EQ(load.path, path);
    EXPECT_EQ(load.checksum, load.path == "/model" ? "" : "c0ffee");
    trainer_.On(event::CallFailed{load.call, absl::DataLossError("another one")});
    context_.TakeActions();
  }
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->message(), "can't load the model: another one");
}

// The plan is two warm-up updates, of which one checkpoint is kept.
class TrainerDriverRemovalTest : public TrainerDriverTest {
 protected:
  TrainerDriverRemovalTest()
      : TrainerDriverTest({.steps = 0,
                           .warmup = 2,
                           .sets = {"checkpoint.keep=1", "checkpoint.keep_best=false"}}) {}
};

TEST_F(TrainerDriverRemovalTest, ATrainerThatWasTakenBeforeIsNotTakenBackEither) {
  DurableState durable(&plan_);
  UpdateEntry update;
  update.name = plan_.NameOf(1);
  durable.Apply(update);
  durable.Apply(CheckpointEntry{plan_.NameOf(1), "/ckpt/older", "c0ffee", 0});
  update.name = plan_.NameOf(2);
  durable.Apply(update);
  context_.Restore(std::move(durable));
  v1::TrainerInfo info;
  *info.mutable_last_update() = plan_.NameOf(2);
  ProbedOwn(info);
  trainer_.On(event::CheckpointSaved{Scheduled<action::SaveCheckpoint>().call, {}});
  Only<action::Record>();
  const auto removal = Scheduled<action::RemoveCheckpoints>();
  EXPECT_EQ(removal.paths, std::vector<std::string>{"/ckpt/older"});
  trainer_.On(
      event::CallFailed{removal.call, absl::AbortedError("campaign b-2 has taken the trainer")});
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace whetstone
