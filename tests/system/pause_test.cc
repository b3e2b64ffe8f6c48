// A paused run stands still, shows it, is stopped and killed like any other, and what it computed
// is what an undisturbed replay of its journal gives, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "common/eventually_testing.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

class PauseTest : public WhetTest {
 protected:
  // The run has more steps than anybody waits for.
  void StartRun() {
    run_ =
        StartWhet({"run", WriteCampaign(2000, "reward: {overlong_buffer: 24}\n"), "--run-dir",
                   RunDirectory(), "--set", "deterministic=true", "--set", "train.token_budget=300",
                   "--set", "generate.stop=[e, t]", "--set", "checkpoint.every=100"});
    AwaitSteps(1);
  }
  void Resume() {
    run_ = StartWhet({"resume", RunDirectory()});
    AwaitSteps(1);
  }
  // Waits until so many more steps are done.
  void AwaitSteps(size_t steps) const {
    const size_t wanted = Metrics().size() + steps;
    ASSERT_TRUE(Eventually([&] { return Metrics().size() >= wanted || run_->Ended(); }));
    ASSERT_FALSE(run_->Ended()) << run_->out() << run_->err();
  }
  // Returns when it is paused and nothing computes any more.
  void PauseAndWait() const {
    const WhetResult pause = Whet({"pause", RunDirectory(), "--wait", "--json"});
    ASSERT_EQ(pause.exit_code, 0) << pause.err;
    EXPECT_EQ(pause.json()["changed"], true);
    EXPECT_TRUE(pause.json()["running"].empty()) << pause.out;
    EXPECT_GT(pause.json()["paused_since_us"].get<double>(), 0);
  }
  std::string Status() const { return Whet({"status", RunDirectory()}).out; }

  std::unique_ptr<BackgroundProgram> run_;
};

TEST_F(PauseTest, ItStandsStillAndGoesOnAsIfNothingHadBeen) {
  ASSERT_NO_FATAL_FAILURE(StartRun());
  ASSERT_NO_FATAL_FAILURE(PauseAndWait());
  const size_t steps = Metrics().size();
  const Rows rollouts = Rollouts();
  const Rows verdicts = Verdicts();
  EXPECT_THAT(Status(), AllOf(HasSubstr("paused since "), HasSubstr("whet unpause")));
  EXPECT_THAT(Whet({"list", RunDirectory()}).out, HasSubstr("paused for "));
  EXPECT_THAT(Whet({"watch", RunDirectory(), "--once"}).out, HasSubstr("paused since "));
  EXPECT_THAT(Whet({"logs", RunDirectory()}).out, HasSubstr("paused: what runs ends"));
  const WhetResult again = Whet({"pause", RunDirectory(), "--json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.json()["changed"], false);
  EXPECT_THAT(Whet({"gc", RunDirectory(), "--yes"}).out, HasSubstr("left alone, in use by "));
  EXPECT_EQ(Metrics().size(), steps);
  EXPECT_EQ(Rollouts(), rollouts);
  EXPECT_EQ(Verdicts(), verdicts);
  EXPECT_FALSE(run_->Ended());

  const WhetResult unpause = Whet({"unpause", RunDirectory(), "--json"});
  EXPECT_EQ(unpause.exit_code, 0) << unpause.err;
  EXPECT_EQ(unpause.json()["changed"], true);
  ASSERT_NO_FATAL_FAILURE(AwaitSteps(2));
  EXPECT_THAT(Status(), HasSubstr("running"));

  // What is killed or stopped is not paused any more.
  ASSERT_NO_FATAL_FAILURE(PauseAndWait());
  run_->Signal(SIGKILL);
  run_->Wait(seconds(30));
  EXPECT_THAT(Status(), AllOf(HasSubstr(": stopped"), HasSubstr("whet resume")));
  const WhetResult dead = Whet({"unpause", RunDirectory()});
  EXPECT_EQ(dead.exit_code, 2);
  EXPECT_THAT(dead.err, HasSubstr("is not running, so there is nothing to unpause; go on with: "
                                  "whet resume"));
  ASSERT_NO_FATAL_FAILURE(Resume());
  EXPECT_THAT(Status(), HasSubstr("running"));
  ASSERT_NO_FATAL_FAILURE(PauseAndWait());
  const WhetResult stop = Whet({"stop", RunDirectory(), "--json"});
  EXPECT_EQ(stop.exit_code, 0) << stop.err;
  EXPECT_EQ(stop.json()["stopped"], true);
  EXPECT_EQ(run_->Wait(seconds(5)).exit_code, 130) << run_->err();
  ASSERT_NO_FATAL_FAILURE(Resume());
  ASSERT_NO_FATAL_FAILURE(PauseAndWait());
  run_->Signal(SIGINT);
  EXPECT_EQ(run_->Wait(seconds(60)).exit_code, 130) << run_->err();

  const WhetResult replay = Whet({"replay", RunDirectory()});
  EXPECT_EQ(replay.exit_code, 0) << replay.out << replay.err;
  EXPECT_THAT(replay.out, HasSubstr("bit for bit equal"));
}

}  // namespace
}  // namespace whetstone
