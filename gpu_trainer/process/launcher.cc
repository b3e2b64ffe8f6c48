#include "gpu_trainer/process/launcher.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/retry_policy.h"
#include "common/status_macros.h"
#include "gpu_trainer/distributed/free_port.h"

extern char** environ;

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

// Ranks that are left may take so long to end: longer than they need to notice that one is gone
// (heartbeat.h).
constexpr std::chrono::seconds kGrace{30};
// The ranks are started anew after so long: what they used may still be on its way out.
constexpr std::chrono::seconds kPause{1};
// A rank that was used wrongly has this exit code: it would end the same way again.
constexpr int kWrongUse = 2;

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

void Say(const std::string& words) {
  std::fprintf(stderr, "whet-trainer launch: %s\n", words.c_str());
}

class Launcher {
 public:
  explicit Launcher(int ranks) : ranks_(ranks) {
    sigemptyset(&waited_for_);
    for (const int s : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&waited_for_, s);
    sigprocmask(SIG_BLOCK, &waited_for_, &inherited_);
  }

  // Starts all ranks, of which none may be alive.
  absl::Status Start(const std::vector<std::string>& command) {
    ending_ = first_done_ = false;
    exit_code_ = 0;
    ASSIGN_OR_RETURN(const uint16_t port, FreeLoopbackPort());
    const pid_t self = getpid();
    for (int rank = 0; rank < ranks_; ++rank) {
      std::vector<std::string> arguments = {"whet-trainer"}, environment;
      arguments.insert(arguments.end(), command.begin(), command.end());
      for (char** variable = environ; *variable != nullptr; ++variable) {
        environment.push_back(*variable);
      }
      for (const auto& [name, value] : std::vector<std::pair<const char*, std::string>>{
               {"RANK", absl::StrCat(rank)},
               {"LOCAL_RANK", absl::StrCat(rank)},
               {"WORLD_SIZE", absl::StrCat(ranks_)},
               {"LOCAL_WORLD_SIZE", absl::StrCat(ranks_)},
               {"MASTER_ADDR", "127.0.0.1"},
               {"MASTER_PORT", absl::StrCat(port)}}) {
        environment.push_back(absl::StrCat(name, "=", value));
      }
      const std::vector<char*> argv = Pointers(arguments), env = Pointers(environment);
      const pid_t pid = fork();
      if (pid < 0) return absl::ErrnoToStatus(errno, "cannot fork");
      if (pid == 0) {
        // Only async-signal-safe calls follow.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self) _exit(3);  // It died before that took effect.
        sigprocmask(SIG_SETMASK, &inherited_, nullptr);
        execve("/proc/self/exe", argv.data(), env.data());
        _exit(3);
      }
      alive_[pid] = rank;
    }
    return absl::OkStatus();
  }

  // Waits until all have ended; returns the exit code of the first that failed.
  int Wait() {
    while (!alive_.empty()) {
      HearSignals();
      int how = 0;
      for (pid_t pid; (pid = waitpid(-1, &how, WNOHANG)) > 0;) Ended(pid, how);
      if (ending_ && Clock::now() > deadline_) SignalAll(SIGKILL);
    }
    return exit_code_;
  }

  // Waits until the ranks may be started anew; returns false if a stop was asked for.
  bool Pause() {
    const Clock::time_point end = Clock::now() + kPause;
    while (!stopped_ && Clock::now() < end) HearSignals();
    return !stopped_;
  }
  bool stopped() const { return stopped_; }

  void SignalAll(int signal) {
    for (const auto& [pid, rank] : alive_) kill(pid, signal);
  }

 private:
  // Waits at most 0.2 s for a signal.
  void HearSignals() {
    const timespec tick = {.tv_sec = 0, .tv_nsec = 200'000'000};
    const int signal = sigtimedwait(&waited_for_, nullptr, &tick);
    if (signal != SIGINT && signal != SIGTERM) return;
    stopped_ = true;
    SignalAll(signal);
  }

  void Ended(pid_t pid, int how) {
    const auto it = alive_.find(pid);
    if (it == alive_.end()) return;
    const int rank = it->second;
    alive_.erase(it);
    const int code = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    if (!ending_ && code != 0) {
      Say(WIFSIGNALED(how) ? absl::StrCat("rank ", rank, " was killed by signal ", WTERMSIG(how),
                                          " (", strsignal(WTERMSIG(how)), ")")
                           : absl::StrCat("rank ", rank, " ended with exit code ", code));
    }
    if (!ending_) deadline_ = Clock::now() + kGrace;
    ending_ = true;
    // What fails after rank 0 has left in good order is not to blame.
    if (exit_code_ == 0 && !first_done_) exit_code_ = code;
    first_done_ = first_done_ || rank == 0;
  }

  const int ranks_;
  sigset_t waited_for_, inherited_;
  bool stopped_ = false;        // Somebody has asked for the end.
  std::map<pid_t, int> alive_;  // The ranks, by process.
  bool ending_ = false;         // One has ended.
  bool first_done_ = false;     // Rank 0 has.
  Clock::time_point deadline_;  // Then the others must have ended by this time.
  int exit_code_ = 0;
};

}  // namespace

int Launch(int ranks, int restarts_max, const std::vector<std::string>& command) {
  if (command.empty()) {
    Say("no command; as in: whet-trainer launch --nproc 2 -- serve --socket PATH");
    return 2;
  }
  if (std::getenv("RANK") != nullptr) {
    Say("this process is a rank itself (the environment has RANK); launch is for one host alone");
    return 2;
  }
  Launcher launcher(ranks);
  int restarts = 0;
  while (true) {
    const Clock::time_point begin = Clock::now();
    const absl::Status started = launcher.Start(command);
    if (!started.ok()) {
      Say(std::string(started.message()));
      launcher.SignalAll(SIGKILL);
      launcher.Wait();
      return 3;
    }
    const int code = launcher.Wait();
    if (code == 0 || code == kWrongUse || launcher.stopped()) return code;
    if (Clock::now() - begin > kSettled) restarts = 0;
    if (restarts == restarts_max || !launcher.Pause()) return code;
    Say(absl::StrCat("starting all ranks anew (", ++restarts, " of at most ", restarts_max, ")"));
  }
}

}  // namespace whetstone
