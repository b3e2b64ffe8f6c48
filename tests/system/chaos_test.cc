// Everything happens to a campaign through SSH that happens to machines in a week, several times:
// services and the coordinator killed, the tunnels cut, a worker frozen, the disk full. It reaches
// its end with one verdict per candidate, and an undisturbed replay of its journal reaches the same
// weights, bit for bit.
//
// Here a tiny model meets every disturbance once; with WHETSTONE_CHAOS_ROUNDS=3 (tests/run_all.sh
// --full) the small real model does three times, in another order each time.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "tests/system/ssh_campaign_fixture.h"

namespace whetstone {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

// A step of the small model takes seconds, and its catching up after a crash some of them.
constexpr seconds kPatience{300};

int Rounds() {
  const char* rounds = std::getenv("WHETSTONE_CHAOS_ROUNDS");
  return rounds == nullptr ? 0 : std::atoi(rounds);
}

class ChaosTest : public SshCampaignTest {
 protected:
  void SetUp() override {
    SshCampaignTest::SetUp();
    StartWorker(1);
    // What the coordinator writes has a disk of its own.
    mkdir(Disk().c_str(), 0755);
    if (mount("tmpfs", Disk().c_str(), "tmpfs", 0, "size=16m") != 0) {
      GTEST_SKIP() << "this process may not mount a small tmpfs";
    }
    std::filesystem::create_directory_symlink(Disk() + "/run", RunDirectory());
  }
  void TearDown() override {
    run_.reset();
    umount2(Disk().c_str(), MNT_DETACH);
  }
  std::string Disk() const { return Path("disk"); }

  // Waits until `steps` more steps are done; whatever was there before must be there still.
  void AwaitSteps(size_t steps) {
    const size_t wanted = Metrics().size() + steps;
    ASSERT_TRUE(Eventually([&] { return Metrics().size() >= wanted || run_->Ended(); }, kPatience))
        << run_->err();
    for (const auto& [key, row] : verdicts_) {
      ASSERT_EQ(Verdicts()[key], row) << "verdict " << key << " was lost or made anew";
    }
    verdicts_ = Verdicts();
  }

  void Resume() { run_ = StartWhet({"resume", RunDirectory()}); }

  void KillTrainer() {
    trainer_->Signal(SIGKILL);
    trainer_->Wait(seconds(5));
    StartTrainer();
  }
  void KillWorker() {
    workers_[0]->Signal(SIGKILL);
    workers_[0]->Wait(seconds(5));
    StartWorker(0);
  }
  void FreezeWorker() {
    workers_[1]->Signal(SIGSTOP);
    AwaitSteps(2);  // The other one does its work.
    workers_[1]->Signal(SIGCONT);
  }
  void CutTunnels() {
    const auto losses = [this] {
      const std::vector<std::string> parts = absl::StrSplit(run_->out(), "lost the trainer");
      return parts.size();
    };
    const size_t before = losses();
    ASSERT_TRUE(sshd_->Stop().ok());
    EXPECT_TRUE(Eventually([&] { return losses() > before; }, kPatience)) << run_->err();
    ASSERT_TRUE(sshd_->Restart().ok());
  }
  void KillWhet() {
    run_->Signal(SIGKILL);
    run_->Wait(seconds(5));
    Resume();
  }
  void FillDisk() {
    const std::string ballast = Disk() + "/ballast";
    const int fd = open(ballast.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    const std::string block(4096, 'x');
    while (write(fd, block.data(), block.size()) > 0) {
    }
    close(fd);
    const WhetResult full = run_->Wait(kPatience);
    EXPECT_GT(full.exit_code, 0) << full.err;
    EXPECT_LT(full.exit_code, 128) << full.err;
    EXPECT_THAT(full.err, HasSubstr("full"));
    unlink(ballast.c_str());
    Resume();
  }

  struct Disturbance {
    const char* name;
    void (ChaosTest::*happens)();
  };
  static std::vector<Disturbance> Disturbances() {
    return {{"the trainer is killed", &ChaosTest::KillTrainer},
            {"a worker is killed", &ChaosTest::KillWorker},
            {"a worker is frozen", &ChaosTest::FreezeWorker},
            {"the tunnels are cut", &ChaosTest::CutTunnels},
            {"whet is killed", &ChaosTest::KillWhet},
            {"the disk is full", &ChaosTest::FillDisk}};
  }

  std::unique_ptr<BackgroundProgram> run_;
  Rows verdicts_;
};

TEST_F(ChaosTest, EndsCompleteAndIsItsOwnReplay) {
  const int rounds = std::max(Rounds(), 1);
  std::vector<Disturbance> disturbances = Disturbances();
  // There is a step before and after each, and two while a worker is frozen.
  const int steps = rounds * (2 * static_cast<int>(disturbances.size()) + 2) + 2;
  const std::string campaign =
      WriteCampaign(steps, absl::StrCat(Cluster(sshd_->ssh_config()),
                                        "deterministic: true\nreward: {overlong_buffer: 24}\n"));
  std::vector<std::string> words = {"run", campaign, "--run-dir", Disk() + "/run"};
  const auto set = [&words](const std::string& setting) {
    words.insert(words.end(), {"--set", setting});
  };
  // Rewards differ: completions end early or late, and length costs.
  if (Rounds() == 0) {
    set("generate.stop=[e, t]");
    set("train.token_budget=300");
  } else {
    set("generate.stop=[.]");
    set("train.token_budget=2000");
    set("checkpoint.every=20");  // Each has 1.6 GB, and the replay keeps all of its own.
    set("model=" + SmallModel());
  }
  run_ = StartWhet(words);

  for (int round = 0; round < rounds; ++round) {
    std::shuffle(disturbances.begin(), disturbances.end(),
                 std::mt19937(static_cast<unsigned>(17 + round)));
    for (const Disturbance& disturbance : disturbances) {
      SCOPED_TRACE(absl::StrCat("round ", round + 1, ": ", disturbance.name));
      ASSERT_NO_FATAL_FAILURE(AwaitSteps(1));
      ASSERT_FALSE(run_->Ended()) << run_->err();
      std::printf("after step %zu %s\n", Metrics().size(), disturbance.name);
      std::fflush(stdout);
      ASSERT_NO_FATAL_FAILURE((this->*disturbance.happens)());
    }
  }
  ASSERT_NO_FATAL_FAILURE(AwaitSteps(1));
  const WhetResult end = run_->Wait(rounds * kPatience);
  ASSERT_EQ(end.exit_code, 0) << end.out << end.err;
  ExpectComplete(steps);
  double moved = 0;  // Otherwise there would be nothing to prove.
  for (const nlohmann::json& row : Metrics()) moved += row["grad_norm"].get<double>();
  ASSERT_GT(moved, 0);

  const WhetResult replay =
      Whet({"replay", RunDirectory(), "--keep", Path("again")}, rounds * kPatience);
  ASSERT_EQ(replay.exit_code, 0) << replay.out << replay.err;
  EXPECT_THAT(replay.out, HasSubstr("bit for bit equal"));
}

}  // namespace
}  // namespace whetstone
