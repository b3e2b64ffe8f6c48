// Two runs of one campaign file want one trainer: the second waits for the first, or takes the
// trainer from it. Each is what an undisturbed replay of its journal gives, bit for bit: no policy
// has seen an update of the other's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "tests/system/ssh_campaign_fixture.h"

namespace whetstone {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::SizeIs;

class HolderTest : public SshCampaignTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(SshCampaignTest::SetUp());
    campaign_ = WriteCampaign(3, absl::StrCat(Cluster(sshd_->ssh_config()), "deterministic: true\n",
                                              "reward: {overlong_buffer: 24}\n"));
  }
  std::string Second() const { return Path("second"); }
  std::unique_ptr<BackgroundProgram> StartRun(const std::string& run_dir,
                                              const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"run",       campaign_,
                                      "--run-dir", run_dir,
                                      "--set",     "train.token_budget=300",
                                      "--set",     "generate.stop=[e, t]"};
    words.insert(words.end(), more.begin(), more.end());
    return StartWhet(words);
  }
  void AwaitFirstStep(const BackgroundProgram& first) const {
    ASSERT_TRUE(Eventually([&] { return !Metrics().empty() || first.Ended(); }));
    ASSERT_FALSE(first.Ended()) << first.err();
  }
  void ExpectItsOwnReplay(const std::string& run_dir) const {
    const WhetResult replay = Whet({"replay", run_dir, "--keep", run_dir + "-again"});
    EXPECT_EQ(replay.exit_code, 0) << replay.out << replay.err;
    EXPECT_THAT(replay.out, HasSubstr("bit for bit equal"));
  }
  // Returns the folders below checkpoint.dir.
  std::set<std::string> CheckpointFolders() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(Path("checkpoints"))) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  std::string campaign_;
};

TEST_F(HolderTest, TheSecondWaitsForTheFirst) {
  const auto first = StartRun(RunDirectory());
  ASSERT_NO_FATAL_FAILURE(AwaitFirstStep(*first));
  const auto second = StartRun(Second());
  const WhetResult replay = Whet({"replay", RunDirectory(), "--keep", Path("again")});
  EXPECT_NE(replay.exit_code, 0) << "a run in use is not replayed";
  const WhetResult one = first->Wait(seconds(240)), other = second->Wait(seconds(240));
  EXPECT_EQ(one.exit_code, 0) << one.out << one.err;
  EXPECT_EQ(other.exit_code, 0) << other.out << other.err;
  EXPECT_THAT(CheckpointFolders(), SizeIs(2));
  ExpectItsOwnReplay(RunDirectory());
  ExpectItsOwnReplay(Second());
}

TEST_F(HolderTest, AStolenTrainerEndsTheFirstWhichGoesOnLater) {
  const auto first = StartRun(RunDirectory());
  ASSERT_NO_FATAL_FAILURE(AwaitFirstStep(*first));
  const auto second = StartRun(Second(), {"--steal"});
  const WhetResult lost = first->Wait(seconds(240));
  EXPECT_EQ(lost.exit_code, 3) << lost.out << lost.err;
  EXPECT_THAT(lost.err, HasSubstr("--steal takes it back"));
  EXPECT_THAT(lost.out + lost.err, HasSubstr("go on with: whet resume"));
  const WhetResult stole = second->Wait(seconds(240));
  EXPECT_EQ(stole.exit_code, 0) << stole.out << stole.err;
  const WhetResult resumed = Whet({"resume", RunDirectory()});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
  ExpectComplete(3);
  ExpectItsOwnReplay(RunDirectory());
  ExpectItsOwnReplay(Second());
}

}  // namespace
}  // namespace whetstone
