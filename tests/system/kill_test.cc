// Whatever is killed, and whenever: nothing is generated or measured twice, nothing is lost, and
// nothing outlives its owner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr int kSteps = 6;

// Whether a signal was sent to the process and not yet taken.
bool IsPending(pid_t pid, int signal) {
  const auto status = ReadFile(absl::StrCat("/proc/", pid, "/status"));
  if (!status.ok()) return false;
  const size_t at = status->find("ShdPnd:");
  return at != std::string::npos &&
         (std::stoull(status->substr(at + 7, 20), nullptr, 16) >> (signal - 1) & 1) != 0;
}

class KillTest : public WhetTest {
 protected:
  // Starts a run that has done `steps` steps and goes on.
  std::unique_ptr<BackgroundProgram> RunUntil(size_t steps, int steps_in_all = kSteps) {
    auto run = StartWhet({"run", WriteCampaign(steps_in_all), "--run-dir", RunDirectory()});
    EXPECT_TRUE(Eventually([&] { return Metrics().size() >= steps || run->Ended(); }));
    EXPECT_FALSE(run->Ended()) << run->out() << run->err();
    return run;
  }
  // `before` must still be there, word for word.
  static void ExpectKept(const Rows& before, const Rows& after, const char* what) {
    for (const auto& [key, row] : before) {
      const auto it = after.find(key);
      ASSERT_NE(it, after.end()) << what << " " << key << " is lost";
      EXPECT_EQ(it->second, row) << what << " " << key << " was made anew";
    }
  }
  void ResumeToTheEnd() {
    const Rows rollouts = Rollouts();
    const Rows verdicts = Verdicts();
    const WhetResult resumed = Whet({"resume", RunDirectory()});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
    ExpectComplete(kSteps);
    ExpectKept(rollouts, Rollouts(), "rollout");
    ExpectKept(verdicts, Verdicts(), "verdict");
  }
};

TEST_F(KillTest, WhetKilledTakesItsServicesAlongAndResumes) {
  const auto run = RunUntil(2);
  ASSERT_EQ(ServicesOf("whet-trainer").size(), 1u);
  ASSERT_EQ(ServicesOf("whet-worker").size(), 1u);
  run->Signal(SIGKILL);
  EXPECT_TRUE(Eventually(
      [&] { return ServicesOf("whet-trainer").empty() && ServicesOf("whet-worker").empty(); },
      seconds(20)));
  ResumeToTheEnd();
}

// whet's own directory of sockets outlives kill -9, but not the next start.
TEST_F(KillTest, WhatAKilledWhetLeavesIsSweptAtTheNextStart) {
  const std::string temp = Path("t");
  ASSERT_TRUE(MakeDirectories(temp).ok());
  setenv("TMPDIR", temp.c_str(), 1);
  const auto directories = [&temp] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(temp)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  };
  const auto run = RunUntil(1);
  const std::vector<std::string> alive = directories();
  EXPECT_THAT(alive, testing::IsSupersetOf(
                         {testing::StartsWith("whet."), testing::StartsWith("whet-worker.")}));
  run->Signal(SIGKILL);
  run->Wait(seconds(5));
  EXPECT_THAT(directories(), testing::IsSupersetOf(alive)) << "nobody has looked yet";
  ResumeToTheEnd();
  for (const std::string& name : alive) {
    EXPECT_FALSE(std::filesystem::exists(temp + "/" + name)) << name;
  }
  unsetenv("TMPDIR");
}

TEST_F(KillTest, ResumeAtOnceCopesWithADyingPredecessor) {
  const auto run = RunUntil(1);
  run->Signal(SIGKILL);
  ResumeToTheEnd();
}

TEST_F(KillTest, WhetKilledAgainAndAgainStillReachesTheEnd) {
  RunUntil(1)->Signal(SIGKILL);
  for (size_t steps = 2; steps <= 4; ++steps) {
    const auto resumed = StartWhet({"resume", RunDirectory()});
    ASSERT_TRUE(Eventually([&] { return Metrics().size() >= steps || resumed->Ended(); }))
        << resumed->out() << resumed->err();
    resumed->Signal(SIGKILL);
    resumed->Wait(seconds(5));
  }
  ResumeToTheEnd();
}

TEST_F(KillTest, KilledTrainerIsRestartedAndCaughtUp) {
  const auto run = RunUntil(2);
  const Rows rollouts = Rollouts();
  const auto trainers = ServicesOf("whet-trainer");
  ASSERT_EQ(trainers.size(), 1u);
  kill(trainers[0], SIGKILL);
  const WhetResult result = run->Wait(seconds(300));
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  ExpectComplete(kSteps);
  ExpectKept(rollouts, Rollouts(), "rollout");
  EXPECT_THAT(result.out + result.err, HasSubstr("trainer"));
}

TEST_F(KillTest, AKilledRankIsNamedAndTheJobStartsAnew) {
  const std::string campaign =
      WriteCampaign(kSteps, "local: {threads: 2, dtype: fp32, device: cpu, ranks: 2}\n");
  auto run = StartWhet(
      {"run", campaign, "--run-dir", RunDirectory(), "--set", "train.sharding=parameters"});
  ASSERT_TRUE(Eventually([&] { return Metrics().size() >= 2 || run->Ended(); }));
  const Rows rollouts = Rollouts();
  EXPECT_TRUE(Metrics().back().contains("perf/communication_mib"));
  ASSERT_NO_FATAL_FAILURE(KillRank(1));
  const WhetResult result = run->Wait(seconds(300));
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  ExpectComplete(kSteps);
  ExpectKept(rollouts, Rollouts(), "rollout");
  const std::string log = ReadFile(RunDirectory() + "/logs/trainer.log").value();
  EXPECT_THAT(log, HasSubstr("rank 1 was killed by signal 9"));
  EXPECT_THAT(log, HasSubstr("rank 1 is gone"));
}

TEST_F(KillTest, LaunchEndsWithTheFirstRankThatFails) {
  BackgroundProgram launch(
      {Binary("whet-trainer"), "launch", "--nproc", "2", "--max-restarts", "3", "--", "serve"},
      dir_->path());
  const WhetResult result = launch.Wait(seconds(300));
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("give either --socket PATH or --listen ADDRESS"));
  EXPECT_THAT(result.err, HasSubstr("ended with exit code 2"));
  EXPECT_THAT(result.err, testing::Not(HasSubstr("anew"))) << "it would end the same way again";
}

TEST_F(KillTest, KilledWorkerIsRestarted) {
  const auto run = RunUntil(2);
  const Rows verdicts = Verdicts();
  const auto workers = ServicesOf("whet-worker");
  ASSERT_EQ(workers.size(), 1u);
  kill(workers[0], SIGKILL);
  const WhetResult result = run->Wait(seconds(300));
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  ExpectComplete(kSteps);
  ExpectKept(verdicts, Verdicts(), "verdict");
}

// Somebody cleans up $TMPDIR.
TEST_F(KillTest, AWorkerWhoseFolderIsRemovedEndsAndIsStartedAgain) {
  const auto run = RunUntil(2);
  const Rows verdicts = Verdicts();
  const auto workers = ServicesOf("whet-worker");
  ASSERT_EQ(workers.size(), 1u);
  std::string folder;
  std::error_code closed;
  for (const auto& fd :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", workers[0], "/fd"))) {
    const std::filesystem::path path = std::filesystem::read_symlink(fd.path(), closed);
    if (path.filename().string().starts_with("whet-worker.")) folder = path;
  }
  ASSERT_FALSE(folder.empty());
  // In one step, as the worker goes on making files there.
  const std::string away = folder + ".away";
  std::filesystem::rename(folder, away);
  const WhetResult result = run->Wait(seconds(300));
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  ExpectComplete(kSteps);
  ExpectKept(verdicts, Verdicts(), "verdict");
  for (const auto& [place, row] : Verdicts()) {
    EXPECT_THAT(row, testing::Not(HasSubstr("INFRASTRUCTURE_ERROR"))) << place;
  }
  std::string logs;
  for (const auto& file : std::filesystem::directory_iterator(RunDirectory() + "/logs")) {
    logs += ReadFile(file.path()).value();
  }
  EXPECT_THAT(logs, HasSubstr("somebody has removed " + folder));
  std::error_code ignored;
  std::filesystem::remove_all(away, ignored);
}

TEST_F(KillTest, InterruptEndsCleanlyAndResumeGoesOn) {
  const auto run = RunUntil(2);
  run->Signal(SIGINT);
  const WhetResult stopped = run->Wait(seconds(300));
  EXPECT_EQ(stopped.exit_code, 130) << stopped.out << stopped.err;
  EXPECT_THAT(stopped.out + stopped.err, HasSubstr("whet resume"));
  EXPECT_TRUE(ServicesOf("whet-trainer").empty());
  EXPECT_TRUE(ServicesOf("whet-worker").empty());
  ResumeToTheEnd();
}

TEST_F(KillTest, InterruptedAtAnyMomentItStopsSoon) {
  const auto stop = [](BackgroundProgram* run, int signals) {
    run->Signal(SIGTERM);
    // Two that wait together may come as one, or in the other order.
    EXPECT_TRUE(Eventually([&] { return run->Ended() || !IsPending(run->pid(), SIGTERM); }));
    if (signals > 1) run->Signal(SIGINT);
    EXPECT_EQ(run->Wait(seconds(120)).exit_code, 130) << run->out() << run->err();
  };
  // The run stops while services start and while something computes; a second signal does not wait
  // at all.
  const auto starting = StartWhet({"run", WriteCampaign(kSteps), "--run-dir", RunDirectory()});
  EXPECT_TRUE(Eventually([&] { return !ServicesOf("whet-trainer").empty(); }));
  stop(starting.get(), 1);
  const auto run = RunUntil(1);
  stop(run.get(), 1);
  EXPECT_THAT(run->err(), HasSubstr("stopped after step"));
  const auto resumed = StartWhet({"resume", RunDirectory()});
  EXPECT_TRUE(Eventually([&] { return Metrics().size() >= 2 || resumed->Ended(); }));
  stop(resumed.get(), 2);
  ResumeToTheEnd();
}

TEST_F(KillTest, ARunThatIsAliveCanNotBeResumed) {
  // The run is so long that it lives on while the second one waits for the lock.
  const auto run = RunUntil(1, 10'000);
  const WhetResult second = Whet({"resume", RunDirectory()});
  EXPECT_NE(second.exit_code, 0);
  EXPECT_THAT(second.err, HasSubstr(absl::StrCat(run->pid()))) << "say who owns it";

  const auto follower = StartWhet({"logs", RunDirectory(), "-f"});
  const WhetResult stop = Whet({"stop", RunDirectory(), "--json"});
  EXPECT_EQ(stop.exit_code, 0) << stop.out << stop.err;
  EXPECT_EQ(stop.json()["stopped"], true);
  EXPECT_EQ(run->Wait(seconds(5)).exit_code, 130) << "it was gone when stop said so";
  EXPECT_TRUE(ServicesOf("whet-worker").empty());
  const WhetResult log = follower->Wait(seconds(30));
  EXPECT_EQ(log.exit_code, 0) << log.err;
  EXPECT_THAT(log.out, HasSubstr("whet resume")) << "its last words";
  const WhetResult again = Whet({"stop", RunDirectory(), "--json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.json()["stopped"], false);

  const auto resumed = StartWhet({"resume", RunDirectory()});
  EXPECT_TRUE(Eventually([&] { return !ServicesOf("whet-worker").empty() || resumed->Ended(); }));
  EXPECT_EQ(Whet({"stop", "--now", RunDirectory()}).exit_code, 0);
  EXPECT_EQ(resumed->Wait(seconds(5)).exit_code, 130) << resumed->err();
}

}  // namespace
}  // namespace whetstone
