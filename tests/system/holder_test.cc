// Two runs of one campaign file want one trainer: the second waits for the first, or takes the
// trainer from it. Each is what an undisturbed replay of its journal gives, bit for bit: no policy
// has seen an update of the other's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "tests/system/ssh_campaign_fixture.h"

namespace whetstone {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class HolderTest : public SshCampaignTest {
 protected:
  // The first run has more steps than anybody waits for.
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(SshCampaignTest::SetUp());
    campaign_ = WriteCampaign(
        2000, absl::StrCat(Cluster(sshd_->ssh_config()), "reward: {overlong_buffer: 24}\n"));
    first_ = StartRun(RunDirectory());
    ASSERT_NO_FATAL_FAILURE(AwaitSteps(1));
  }
  std::string Second() const { return Path("second"); }
  std::unique_ptr<BackgroundProgram> StartRun(const std::string& run_dir,
                                              const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"run", campaign_, "--run-dir", run_dir};
    for (const char* set : {"deterministic=true", "train.token_budget=300", "generate.stop=[e, t]",
                            "checkpoint.every=100"}) {
      words.insert(words.end(), {"--set", set});
    }
    words.insert(words.end(), more.begin(), more.end());
    return StartWhet(words);
  }
  // Waits until the first run has done so many more steps.
  void AwaitSteps(size_t steps) const {
    const size_t wanted = Metrics().size() + steps;
    ASSERT_TRUE(Eventually([&] { return Metrics().size() >= wanted || first_->Ended(); }));
    ASSERT_FALSE(first_->Ended()) << first_->err();
  }
  void StopFirst() {
    first_->Signal(SIGINT);
    const WhetResult stopped = first_->Wait(seconds(60));
    EXPECT_EQ(stopped.exit_code, 130) << stopped.out << stopped.err;
  }
  static void ExpectDone(BackgroundProgram* run) {
    const WhetResult end = run->Wait(seconds(120));
    EXPECT_EQ(end.exit_code, 0) << end.out << end.err;
  }
  void ExpectItsOwnReplay(const std::string& run_dir) const {
    const WhetResult replay = Whet({"replay", run_dir, "--keep", run_dir + "-again"});
    EXPECT_EQ(replay.exit_code, 0) << replay.out << replay.err;
    EXPECT_THAT(replay.out, HasSubstr("bit for bit equal"));
  }

  std::string campaign_;
  std::unique_ptr<BackgroundProgram> first_;
};

TEST_F(HolderTest, TheSecondWaitsUntilTheFirstIsStopped) {
  const auto second = StartRun(Second(), {"--set", "train.steps=3"});
  ASSERT_TRUE(Eventually([&] {
    return absl::StrContains(second->out() + second->err(),
                             "waiting for the trainer, which serves campaign system-test-");
  })) << second->out()
      << second->err();
  EXPECT_THAT(Whet({"doctor", campaign_}).out, HasSubstr("it serves campaign system-test-"));
  ASSERT_NO_FATAL_FAILURE(AwaitSteps(2));
  ASSERT_NO_FATAL_FAILURE(StopFirst());
  ExpectDone(second.get());
  ExpectItsOwnReplay(RunDirectory());
  ExpectItsOwnReplay(Second());
}

TEST_F(HolderTest, AStolenTrainerEndsTheFirstWhichGoesOnLater) {
  const auto second = StartRun(Second(), {"--steal", "--set", "train.steps=3"});
  const WhetResult lost = first_->Wait(seconds(120));
  EXPECT_EQ(lost.exit_code, 3) << lost.out << lost.err;
  EXPECT_THAT(lost.err, HasSubstr("--steal takes it back"));
  EXPECT_THAT(lost.out + lost.err, HasSubstr("go on with: whet resume"));
  ExpectDone(second.get());
  first_ = StartWhet({"resume", RunDirectory()});
  ASSERT_NO_FATAL_FAILURE(AwaitSteps(2));
  ASSERT_NO_FATAL_FAILURE(StopFirst());
  ExpectItsOwnReplay(RunDirectory());
  ExpectItsOwnReplay(Second());
}

}  // namespace
}  // namespace whetstone
