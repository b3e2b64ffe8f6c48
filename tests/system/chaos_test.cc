// Everything happens to a campaign through SSH and a jump host that happens to machines in a week:
// services, ranks and the coordinator killed and started again, at once or late, or frozen; the
// tunnels cut, the jump host away or silent, the disk full. A seeded script chooses what comes
// next. The campaign reaches its end with one verdict per candidate, and an undisturbed replay of
// its journal reaches the same weights, bit for bit.
//
// Here a tiny model meets some of it, each once. With WHETSTONE_CHAOS_MINUTES=30 (tests/run_all.sh
// --full) the small real model, on two ranks and with three workers, meets all of it, round after
// round, each time in another order; a disturbance comes 20 s after the recovery from the last.
// WHETSTONE_CHAOS_SEED chooses the script, WHETSTONE_CHAOS_TABLE names a file for what was
// measured, as JSON lines: how long each fault lasted until somebody put it right, and how long it
// then took until a step was complete. With the replay it takes twice the minutes at most.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "tests/system/ssh_campaign_fixture.h"

namespace whetstone {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// A step of the small model takes seconds, and its catching up after a crash some of them.
constexpr seconds kPatience{300};
// The next disturbance comes so long after the recovery from the last.
constexpr seconds kQuiet{20};
// The median recovery takes at most so long, and one undisturbed step; none takes longer than this.
constexpr double kRecoveryMaxS = 10;
constexpr double kLongestRecoveryS = 60;

int NumberFrom(const char* variable, int otherwise) {
  const char* number = std::getenv(variable);
  return number == nullptr ? otherwise : std::atoi(number);
}
minutes Minutes() { return minutes(NumberFrom("WHETSTONE_CHAOS_MINUTES", 0)); }
bool Brief() { return Minutes() == minutes(0); }

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// The middle one, or the higher of the two.
double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of the checkpoints in a folder only the newest stays.
void RemoveOldCheckpoints(const std::string& folder) {
  std::map<int, std::filesystem::path> checkpoints;
  std::error_code error;  // The folder may not be there yet, and what is in it is being written.
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    int step = 0;
    if (absl::SimpleAtoi(absl::StripPrefix(name, "step-"), &step)) checkpoints[step] = it->path();
  }
  while (checkpoints.size() > 1) {
    std::filesystem::remove_all(checkpoints.begin()->second, error);
    checkpoints.erase(checkpoints.begin());
  }
}

class ChaosTest : public SshCampaignTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(SshCampaignTest::SetUp());
    auto jump = PrivateSshd::Start();
    ASSERT_TRUE(jump.ok()) << jump.status();
    jump_ = *std::move(jump);
    sshd_->WriteSshConfigThrough({.sshd = jump_.get(), .key = ""}, "gpu* cpu*", Path("ssh_config"));
    StartWorker(1);
    if (!Brief()) {
      StartWorker(2);
      StartTrainer(Ranks());
    }
    // What the coordinator writes has a disk of its own.
    mkdir(Disk().c_str(), 0755);
    if (mount("tmpfs", Disk().c_str(), "tmpfs", 0, "size=64m") != 0) {
      GTEST_SKIP() << "this process may not mount a small tmpfs";
    }
    std::filesystem::create_directory_symlink(Disk() + "/run", RunDirectory());
  }
  void TearDown() override {
    Report();
    run_.reset();
    umount2(Disk().c_str(), MNT_DETACH);
  }
  std::string Disk() const { return Path("disk"); }
  static int Ranks() { return Brief() ? 1 : 2; }

  int Pick(int lowest, int highest) {
    return lowest + static_cast<int>(random_() % static_cast<unsigned>(highest - lowest + 1));
  }

  // The number of steps in the run's metrics, which are only read when there are more.
  size_t Steps() {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(RunDirectory() + "/metrics.jsonl", error);
    if (!error && size != metrics_size_) {
      metrics_size_ = size;
      steps_ = Metrics().size();
    }
    return steps_;
  }

  // The number of steps that the journal has: metrics may get a row of them at the next start only.
  size_t JournaledSteps() { return Journal("SELECT step FROM updates WHERE phase = 2").size(); }

  // Waits until `steps` more steps are done; whatever was there before must be there still.
  void AwaitSteps(size_t steps) { AwaitStep(Steps() + steps); }
  void AwaitStep(size_t wanted) {
    ASSERT_TRUE(Eventually([&] { return Steps() >= wanted || run_->Ended(); }, kPatience))
        << run_->err();
    step_done_ = Clock::now();
    ASSERT_FALSE(run_->Ended()) << run_->out() << run_->err();
    ExpectVerdictsKept();
  }
  void ExpectVerdictsKept() {
    Rows now = Verdicts();
    for (const auto& [key, row] : verdicts_) {
      ASSERT_EQ(now[key], row) << "verdict " << key << " was lost or made anew";
    }
    verdicts_ = std::move(now);
  }

  static void Pass(seconds time) {
    const Clock::time_point end = Clock::now() + time;
    (void)Eventually([end] { return Clock::now() >= end; }, time + seconds(1));
  }

  // Nothing happens for a while after the last step: those that are done meanwhile are undisturbed.
  void KeepQuiet() {
    if (Brief()) return;
    const Clock::time_point end = step_done_ + kQuiet;
    (void)Eventually(
        [&] {
          const Clock::time_point now = Clock::now();
          const size_t before = steps_;
          if (Steps() > before) {
            undisturbed_s_.push_back(Seconds(now - step_done_) /
                                     static_cast<double>(steps_ - before));
            step_done_ = now;
          }
          return now >= end || run_->Ended();
        },
        kQuiet + seconds(10));
    ASSERT_FALSE(run_->Ended()) << run_->out() << run_->err();
  }

  void KillTrainer() {
    trainer_->Signal(SIGKILL);
    trainer_->Wait(seconds(5));
  }
  void RestartTrainer() { StartTrainer(Ranks()); }

  size_t Restarts() const { return Count(trainer_->err(), "starting all ranks anew"); }
  void KillOneRank() {
    restarts_ = Restarts();
    KillRank(Pick(0, Ranks() - 1));
  }
  void AwaitRestart() {
    ASSERT_TRUE(Eventually([&] { return Restarts() > restarts_; })) << trainer_->err();
  }

  void PickWorker() {
    worker_ = static_cast<size_t>(Pick(0, static_cast<int>(workers_.size()) - 1));
  }
  void KillWorker() {
    PickWorker();
    workers_[worker_]->Signal(SIGKILL);
    workers_[worker_]->Wait(seconds(5));
  }
  void RestartWorker() { StartWorker(worker_); }
  void FreezeWorker() {
    PickWorker();
    workers_[worker_]->Signal(SIGSTOP);
  }
  void ThawWorker() {
    if (Brief()) AwaitSteps(2);  // The others do its work.
    workers_[worker_]->Signal(SIGCONT);
  }

  void StopServer(PrivateSshd* sshd) {
    const auto losses = [this] { return Count(run_->out(), "lost the trainer"); };
    const size_t before = losses();
    ASSERT_TRUE(sshd->Stop().ok());
    EXPECT_TRUE(Eventually([&] { return losses() > before; }, kPatience)) << run_->err();
  }
  void StopHosts() { StopServer(sshd_.get()); }
  void RestartHosts() { ASSERT_TRUE(sshd_->Restart().ok()); }
  void StopJump() { StopServer(jump_.get()); }
  void RestartJump() { ASSERT_TRUE(jump_->Restart().ok()); }
  void FreezeJump() { jump_->Signal(SIGSTOP); }
  void ThawJump() { jump_->Signal(SIGCONT); }

  void KillWhet() {
    run_->Signal(SIGKILL);
    run_->Wait(seconds(5));
  }
  void Resume() { run_ = StartWhet({"resume", RunDirectory()}); }
  void FreezeWhet() { run_->Signal(SIGSTOP); }
  void ThawWhet() { run_->Signal(SIGCONT); }

  std::string Ballast() const { return Disk() + "/ballast"; }
  void FillDisk() {
    const int fd = open(Ballast().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    const std::string block(4096, 'x');
    while (write(fd, block.data(), block.size()) > 0) {
    }
    close(fd);
    const WhetResult full = run_->Wait(kPatience);
    ASSERT_GT(full.exit_code, 0) << full.err;
    ASSERT_LT(full.exit_code, 128) << full.err;
    EXPECT_THAT(full.err, HasSubstr("full"));
  }
  void FreeDisk() {
    unlink(Ballast().c_str());
    Resume();
  }

  // A fault begins, lasts, and is put right, as an operator or a service manager does it.
  struct Fault {
    const char* name;
    void (ChaosTest::*begin)();
    void (ChaosTest::*mend)();
    int shortest_s = 0;
    int longest_s = 0;
    bool always = false;  // also where it is brief, and then it does not last
  };
  static std::vector<Fault> Faults() {
    using T = ChaosTest;
    std::vector<Fault> faults = {
        {"the trainer is killed", &T::KillTrainer, &T::RestartTrainer, 0, 0, true},
        {"the trainer is started late", &T::KillTrainer, &T::RestartTrainer, 5, 60},
        {"a rank is killed", &T::KillOneRank, &T::AwaitRestart},
        {"a worker is killed", &T::KillWorker, &T::RestartWorker, 0, 0, true},
        {"a worker is started late", &T::KillWorker, &T::RestartWorker, 5, 60},
        {"a worker is frozen", &T::FreezeWorker, &T::ThawWorker, 5, 40, true},
        {"the tunnels are cut", &T::StopHosts, &T::RestartHosts, 2, 15},
        {"the jump host is stopped", &T::StopJump, &T::RestartJump, 2, 30, true},
        {"the jump host is frozen", &T::FreezeJump, &T::ThawJump, 5, 40},
        {"whet is killed", &T::KillWhet, &T::Resume, 0, 0, true},
        {"whet is resumed late", &T::KillWhet, &T::Resume, 5, 60},
        {"whet is frozen", &T::FreezeWhet, &T::ThawWhet, 5, 40},
        {"the disk is full", &T::FillDisk, &T::FreeDisk, 0, 0, true}};
    if (Brief()) std::erase_if(faults, [](const Fault& fault) { return !fault.always; });
    return faults;
  }

  void Meet(const Fault& fault) {
    const Clock::time_point begin = Clock::now();
    std::printf("after step %zu %s\n", Steps(), fault.name);
    std::fflush(stdout);
    ASSERT_NO_FATAL_FAILURE((this->*fault.begin)());
    if (!Brief()) Pass(seconds(Pick(fault.shortest_s, fault.longest_s)));
    // A process that somebody starts again has its start to do yet, and so has a rank.
    const Clock::time_point mended = Clock::now();
    const size_t before = std::max(Steps(), JournaledSteps());
    ASSERT_NO_FATAL_FAILURE((this->*fault.mend)());
    ASSERT_NO_FATAL_FAILURE(AwaitStep(before + 1));
    recoveries_.push_back({Seconds(begin - begin_), fault.name, Seconds(mended - begin),
                           Seconds(step_done_ - mended)});
  }

  // Prints what was measured, also of a test that failed.
  void Report() {
    if (recoveries_.empty()) return;
    std::printf("seed %d\n%8s  %-28s %10s %12s\n", seed_, "at", "what", "lasted", "then a step");
    std::string lines;
    std::map<std::string, std::vector<double>> kinds;
    for (const Recovery& r : recoveries_) {
      std::printf("%6.0f s  %-28s %8.1f s %10.1f s\n", r.at_s, r.what, r.own_s, r.beyond_s);
      const nlohmann::json line = {
          {"at_s", r.at_s}, {"what", r.what}, {"own_s", r.own_s}, {"beyond_s", r.beyond_s}};
      absl::StrAppend(&lines, line.dump(), "\n");
      kinds[r.what].push_back(r.beyond_s);
    }
    for (const auto& [what, times] : kinds) {
      std::printf("%-28s %3zu times, median %6.1f s, at most %6.1f s\n", what.c_str(), times.size(),
                  Median(times), *std::max_element(times.begin(), times.end()));
    }
    const nlohmann::json summary = {{"seed", seed_},
                                    {"disturbances", recoveries_.size()},
                                    {"undisturbed_steps", undisturbed_s_.size()},
                                    {"undisturbed_step_median_s", Median(undisturbed_s_)},
                                    {"beyond_median_s", MedianRecovery()}};
    std::printf("%s\n", summary.dump().c_str());
    absl::StrAppend(&lines, summary.dump(), "\n");
    const char* table = std::getenv("WHETSTONE_CHAOS_TABLE");
    if (table == nullptr) return;
    EXPECT_TRUE(WriteFileAtomically(table, lines).ok()) << table;
  }
  double MedianRecovery() const {
    std::vector<double> times;
    for (const Recovery& recovery : recoveries_) times.push_back(recovery.beyond_s);
    return Median(times);
  }

  static size_t Count(const std::string& text, const std::string& words) {
    const std::vector<std::string> parts = absl::StrSplit(text, words);
    return parts.size() - 1;
  }

  struct Recovery {
    double at_s = 0;
    const char* what = nullptr;
    double own_s = 0;     // until it was put right
    double beyond_s = 0;  // from then until a step was complete
  };

  const int seed_ = NumberFrom("WHETSTONE_CHAOS_SEED", 17);
  std::mt19937 random_{static_cast<unsigned>(seed_)};
  std::unique_ptr<PrivateSshd> jump_;
  std::unique_ptr<BackgroundProgram> run_;
  Rows verdicts_;
  size_t worker_ = 0;    // whom the fault concerns
  size_t restarts_ = 0;  // the launcher's, before it
  uintmax_t metrics_size_ = 0;
  size_t steps_ = 0;  // as Steps() said last
  Clock::time_point begin_;
  Clock::time_point step_done_;  // when the last of them was seen
  std::vector<double> undisturbed_s_;
  std::vector<Recovery> recoveries_;
};

TEST_F(ChaosTest, EndsCompleteAndIsItsOwnReplay) {
  // There are more steps than anybody waits for: how many, the operator says in the end.
  const std::string campaign =
      WriteCampaign(10'000, absl::StrCat(Cluster(Path("ssh_config")),
                                         "deterministic: true\nreward: {overlong_buffer: 24}\n"));
  std::vector<std::string> words = {"run", campaign, "--run-dir", Disk() + "/run"};
  const auto set = [&words](const std::string& setting) {
    words.insert(words.end(), {"--set", setting});
  };
  // Rewards differ: completions end early or late, and length costs.
  if (Brief()) {
    set("generate.stop=[e, t]");
    set("train.token_budget=300");
  } else {
    set("generate.stop=[.]");
    set("train.token_budget=2000");
    // Each takes 1.6 GB and seconds, and so does every update that a trainer has to repeat.
    set("checkpoint.every=5");
    set("model=" + SmallModel());
  }
  run_ = StartWhet(words);
  std::printf("WHETSTONE_CHAOS_SEED=%d\n", seed_);
  ASSERT_NO_FATAL_FAILURE(AwaitSteps(1));

  begin_ = Clock::now();
  ASSERT_NO_FATAL_FAILURE(KeepQuiet());
  const auto over = [this] { return Clock::now() - begin_ >= Minutes(); };
  std::vector<Fault> faults = Faults();
  do {
    std::shuffle(faults.begin(), faults.end(), random_);
    for (const Fault& fault : faults) {
      if (!Brief() && over()) break;
      SCOPED_TRACE(absl::StrCat("seed ", seed_, ": ", fault.name));
      ASSERT_NO_FATAL_FAILURE(Meet(fault));
      ASSERT_NO_FATAL_FAILURE(KeepQuiet());
    }
  } while (!over());

  run_->Signal(SIGINT);
  ASSERT_EQ(run_->Wait(kPatience).exit_code, 130) << run_->err();
  const int steps = static_cast<int>(JournaledSteps()) + 2;
  const WhetResult end =
      Whet({"resume", RunDirectory(), "--set", absl::StrCat("train.steps=", steps)}, kPatience);
  ASSERT_EQ(end.exit_code, 0) << end.out << end.err;
  ExpectComplete(steps);
  ASSERT_NO_FATAL_FAILURE(ExpectVerdictsKept());
  double moved = 0;  // Otherwise there would be nothing to prove.
  for (const nlohmann::json& row : Metrics()) moved += row["grad_norm"].get<double>();
  ASSERT_GT(moved, 0);
  if (!Brief()) {
    EXPECT_FALSE(undisturbed_s_.empty()) << "no step was undisturbed";
    EXPECT_LE(MedianRecovery(), kRecoveryMaxS + Median(undisturbed_s_));
    for (const Recovery& r : recoveries_) EXPECT_LE(r.beyond_s, kLongestRecoveryS) << r.what;
  }

  // It generates and learns all of it again, and waits for nobody: it takes less than the run.
  const auto replay = StartWhet({"replay", RunDirectory(), "--keep", Path("again")});
  EXPECT_TRUE(Eventually(
      [&] {
        RemoveOldCheckpoints(Path("again"));  // There is no room for all.
        return replay->Ended();
      },
      Minutes() + kPatience));
  const WhetResult replayed = replay->Wait(seconds(1));
  ASSERT_EQ(replayed.exit_code, 0) << replayed.out << replayed.err;
  EXPECT_THAT(replayed.out, HasSubstr("bit for bit equal"));
}

}  // namespace
}  // namespace whetstone
