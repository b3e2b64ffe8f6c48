#include "coordinator/campaign/membership.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/campaign/deadlines.h"
#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

// There are two workers, and two problems to teach them.
class MembershipTest : public testing::Test {
 protected:
  MembershipTest() : plan_(MakeTestPlan({})) {}

  // Returns the actions of type T since the last look, and drops the others.
  template <typename T>
  std::vector<T> Taken() {
    std::vector<T> taken;
    for (Action& action : context_.TakeActions()) {
      if (auto* t = std::get_if<T>(&action)) taken.push_back(std::move(*t));
    }
    return taken;
  }
  // The worker is there and says what it is.
  void Probed(int worker, const std::string& host) {
    members_.On(event::ServiceReady{worker});
    members_.Schedule(/*trainer_computes=*/false);
    for (const action::Probe& probe : Taken<action::Probe>()) {
      v1::WorkerInfo info;
      info.set_host_id(host);
      info.set_hostname(host);
      info.set_cores(8);
      info.set_slots(2);
      members_.On(event::WorkerProbed{probe.call, info});
    }
  }
  // Returns the PutProblem that is next.
  action::PutProblem NextPut(bool trainer_computes = false) {
    members_.Schedule(trainer_computes);
    const auto puts = Taken<action::PutProblem>();
    EXPECT_EQ(puts.size(), 1u);
    return puts.empty() ? action::PutProblem() : puts[0];
  }

  const CampaignPlan plan_;
  CampaignContext context_{&plan_};
  Membership members_{&context_, {"worker 0", "worker 1"}};
};

TEST_F(MembershipTest, LearnsEachProblemAndAHostIsCalibratedOnce) {
  Probed(0, "h");
  EXPECT_TRUE(members_.dispatcher().up(0));
  for (const char* hash : {"hash-a", "hash-b"}) {
    const action::PutProblem put = NextPut();
    EXPECT_FALSE(put.has_calibration);
    v1::Calibration calibration;
    calibration.set_noise_band(0.01);
    members_.On(event::ProblemKnown{put.call, calibration});
    EXPECT_EQ(Taken<action::Record>().size(), 1u);
    EXPECT_TRUE(members_.Knows(0, hash));
  }
  members_.Schedule(false);
  EXPECT_TRUE(Taken<action::PutProblem>().empty());
  Probed(1, "h");
  const action::PutProblem put = NextPut();
  EXPECT_TRUE(put.has_calibration) << "the same host";
  EXPECT_EQ(put.calibration.noise_band(), 0.01);
  members_.On(event::ProblemKnown{put.call, put.calibration});
  EXPECT_TRUE(Taken<action::Record>().empty());
  EXPECT_EQ(members_.WorkersOn("h"), (std::vector<int>{0, 1}));
}

TEST_F(MembershipTest, DoesNotCalibrateOnCoresOfAComputingTrainer) {
  v1::TrainerInfo trainer;
  trainer.set_host_id("h");
  trainer.set_threads(8);
  members_.SetTrainer(trainer);
  Probed(0, "h");
  EXPECT_TRUE(members_.dispatcher().traits(0).shares_cores);
  members_.Schedule(/*trainer_computes=*/true);
  EXPECT_TRUE(Taken<action::PutProblem>().empty());
  NextPut();
  EXPECT_TRUE(members_.CalibratesOnTrainersCores());
  trainer.set_threads(1);
  members_.SetTrainer(trainer);
  EXPECT_FALSE(members_.dispatcher().traits(0).shares_cores) << "eight cores are enough for both";
  EXPECT_FALSE(members_.CalibratesOnTrainersCores());
}

TEST_F(MembershipTest, AWorkerThatCannotTakeAProblemIsGivenUp) {
  Probed(0, "h");
  for (int failure = 1; failure <= Membership::kPutFailuresMax; ++failure) {
    const action::PutProblem put = NextPut();
    const auto lost = members_.On(event::CallFailed{put.call, absl::InternalError("no compiler")});
    ASSERT_TRUE(lost.has_value());
    EXPECT_EQ(lost->worker, 0);
    EXPECT_EQ(members_.gone(0), failure == Membership::kPutFailuresMax);
    context_.set_now(failure * kRetryDelay);
    members_.Schedule(false);
    for (const action::Probe& probe : Taken<action::Probe>()) {
      members_.On(event::WorkerProbed{probe.call, {}});
    }
  }
  EXPECT_EQ(members_.last_error(0), "it can't take problem a: no compiler");
  EXPECT_FALSE(context_.end().has_value()) << "the other may still come";
}

TEST_F(MembershipTest, AWorkerThatIsShortOfSomethingIsAskedAgain) {
  Probed(0, "h");
  members_.On(event::CallFailed{NextPut().call, absl::ResourceExhaustedError("fork: EAGAIN")});
  EXPECT_FALSE(members_.gone(0));
  Probed(0, "h");
  members_.On(event::CallFailed{NextPut().call, absl::UnimplementedError("no such call")});
  EXPECT_TRUE(members_.gone(0));
}

TEST_F(MembershipTest, AWorkerThatSaysNothingWhileItPreparesIsGivenUp) {
  Probed(0, "h");
  const action::PutProblem put = NextPut();
  const Seconds deadline = PutProblemDeadline(plan_.campaign, plan_.problems[0].problem);
  std::vector<Wait> waits;
  members_.AddWaits(&waits);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].name, "worker 0 to calibrate problem a");
  EXPECT_EQ(waits[0].deadline, deadline);
  context_.set_now(deadline - 1);
  EXPECT_FALSE(members_.LoseOverdue().has_value());
  context_.set_now(deadline);
  const auto lost = members_.LoseOverdue();
  ASSERT_TRUE(lost.has_value());
  EXPECT_EQ(lost->worker, 0);
  EXPECT_FALSE(members_.gone(0)) << "it may have been busy for another campaign";
  std::vector<Action> actions = context_.TakeActions();
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(std::get<action::Notice>(actions[0]).text,
            "lost worker 0: it can't take problem a: no answer in 420 s");
  EXPECT_EQ(std::get<action::CancelCall>(actions[1]).call, put.call);
  for (int round = 2; round <= Membership::kPutFailuresMax; ++round) {
    Probed(0, "h");
    NextPut();
    context_.set_now(context_.now() + deadline);
    EXPECT_TRUE(members_.LoseOverdue().has_value());
    EXPECT_EQ(members_.gone(0), round == Membership::kPutFailuresMax);
  }
  const auto notices = Taken<action::Notice>();
  ASSERT_FALSE(notices.empty());
  EXPECT_EQ(notices.back().text, "worker 0 is gone: it can't take problem a: no answer in 420 s");
  EXPECT_FALSE(members_.LoseOverdue().has_value());
}

TEST(PutProblemDeadlineTest, MorePatienceWaitsLonger) {
  const CampaignPlan plan = MakeTestPlan({.sets = {"patience.worker_s=1000"}});
  EXPECT_EQ(PutProblemDeadline(plan.campaign, plan.problems[0].problem), 1000);
}

// Frozen while it prepares, it is noticed by its call, and then answers no probe; later its
// connection is lost too.
TEST_F(MembershipTest, ALostWorkerIsNamedOnceAndItsAbsenceIsCounted) {
  Probed(0, "h");
  context_.set_now(30);
  members_.On(event::CallFailed{NextPut().call, absl::UnavailableError("ping timeout")});
  const auto notices = Taken<action::Notice>();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].text, "lost worker 0: it can't take problem a: ping timeout");
  for (Seconds now = 31; now < 600; ++now) {
    context_.set_now(now);
    if (now == 300) members_.On(event::ServiceLost{0, "no route to host"});
    members_.LoseOverdue();
    members_.Schedule(false);
    std::vector<Wait> waits;
    members_.AddWaits(&waits);
    ASSERT_EQ(waits.size(), 1u);
    EXPECT_EQ(waits[0].name, "worker 0 to come back");
    EXPECT_EQ(waits[0].since, 30);
    EXPECT_GT(waits[0].deadline, now);
  }
  EXPECT_TRUE(Taken<action::Notice>().empty());
  EXPECT_FALSE(members_.gone(0)) << "others may go on meanwhile";
  Probed(0, "h");
  NextPut();
  std::vector<Wait> waits;
  members_.AddWaits(&waits);
  EXPECT_EQ(waits[0].name, "worker 0 to calibrate problem a");
}

TEST_F(MembershipTest, AnUnsoundProblemEndsTheCampaign) {
  Probed(0, "h");
  EXPECT_FALSE(members_.On(event::CallFailed{NextPut().call, absl::InvalidArgumentError("wrong")})
                   .has_value());
  ASSERT_TRUE(context_.end().has_value());
  EXPECT_EQ(context_.end()->message(),
            "problem a is not sound: wrong; try: whet problem check /a.md");
}

TEST_F(MembershipTest, WorkersThatDoNotAnswerInTimeAreLostOneByOne) {
  for (const int worker : {0, 1}) members_.On(event::ServiceReady{worker});
  members_.Schedule(false);
  ASSERT_EQ(Taken<action::Probe>().size(), 2u);
  EXPECT_FALSE(members_.LoseOverdue().has_value());
  context_.set_now(kProbeDeadline);
  for (const int worker : {0, 1}) {
    const auto lost = members_.LoseOverdue();
    ASSERT_TRUE(lost.has_value());
    EXPECT_EQ(lost->worker, worker);
    EXPECT_EQ(lost->why.message(), "it did not answer Worker.GetInfo in time");
    EXPECT_EQ(Taken<action::CancelCall>().size(), 1u);
  }
  EXPECT_FALSE(members_.LoseOverdue().has_value());
  members_.Schedule(false);
  EXPECT_TRUE(Taken<action::Probe>().empty()) << "a little later";
  context_.set_now(kProbeDeadline + kRetryDelay);
  members_.Schedule(false);
  EXPECT_EQ(Taken<action::Probe>().size(), 2u);
}

TEST_F(MembershipTest, ADrainedWorkerLeavesWhenItsMeasurementsHaveEnded) {
  Probed(0, "h");
  members_.dispatcher().Started(0);
  members_.On(event::DrainWorker{0});
  EXPECT_EQ(members_.Status(0)[0].state(), v1::WorkerStatus::DRAINING);
  members_.Schedule(false);
  EXPECT_TRUE(Taken<action::WorkerLeft>().empty());
  members_.dispatcher().Ended(0, true, 0);
  members_.Schedule(false);
  EXPECT_EQ(Taken<action::WorkerLeft>().size(), 1u);
  EXPECT_EQ(members_.Status(0)[0].state(), v1::WorkerStatus::GONE);
  EXPECT_FALSE(members_.On(event::ServiceReady{0}).has_value()) << "it stays away";
}

TEST_F(MembershipTest, ALostWorkerKnowsNothingAnyMore) {
  Probed(0, "h");
  const action::PutProblem put = NextPut();
  members_.On(event::ProblemKnown{put.call, {}});
  EXPECT_TRUE(members_.Knows(0, "hash-a"));
  const auto lost = members_.On(event::ServiceLost{0, "connection reset"});
  ASSERT_TRUE(lost.has_value());
  EXPECT_FALSE(members_.Knows(0, "hash-a"));
  EXPECT_FALSE(members_.dispatcher().up(0));
  EXPECT_EQ(members_.Status(0)[0].why(), "connection reset");
}

}  // namespace
}  // namespace whetstone
