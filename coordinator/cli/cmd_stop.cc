#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/terminal/console.h"

namespace whetstone {
namespace {

using std::chrono::steady_clock;

// Stopping takes ten seconds at most where the machine is not overloaded.
constexpr int kPatienceS = 60;
// A process that has just taken a run says a moment later who it is.
constexpr int kLooksMax = 20;
constexpr std::chrono::milliseconds kLookAgain{50};

struct StopOptions {
  std::string root;
  bool now = false;
  int patience_s = kPatienceS;
  bool json = false;
};

// Returns whether the process has that file open. False also where that is not to be seen: of
// another user's process.
bool HasOpen(int pid, const std::string& path) {
  struct stat wanted = {};
  if (stat(path.c_str(), &wanted) != 0) return false;
  std::error_code error;
  for (std::filesystem::directory_iterator it(absl::StrCat("/proc/", pid, "/fd"), error), end;
       !error && it != end; it.increment(error)) {
    struct stat held = {};
    if (stat(it->path().c_str(), &held) == 0 && held.st_dev == wanted.st_dev &&
        held.st_ino == wanted.st_ino) {
      return true;
    }
  }
  return false;
}

// Returns the process that holds the run's lock, as what no other can become: a process's number
// may be another's by now, or another's in a container. Nothing: the owner is not to be seen.
absl::StatusOr<UniqueFd> OpenOwner(const RunPaths& paths, const RunOwner& owner) {
  if (!owner.here() || !owner.claim.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(paths.root(), " belongs to ", owner.text(),
                                                      ", which can be stopped there alone",
                                                      owner.doubt()));
  }
  UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, owner.pid, 0)));
  if (!process || !HasOpen(owner.pid, paths.lock())) return UniqueFd();
  return process;
}

absl::Status Signal(const UniqueFd& process, const RunOwner& owner, int signal) {
  if (syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  if (error == ESRCH) return absl::OkStatus();  // It has ended.
  return absl::ErrnoToStatus(error, absl::StrCat("cannot stop ", owner.text()));
}

absl::Status WaitForEnd(const UniqueFd& process, const RunOwner& owner, const StopOptions& options,
                        Console* console) {
  const auto begin = steady_clock::now();
  while (true) {
    pollfd ended = {.fd = process.get(), .events = POLLIN, .revents = 0};
    if (poll(&ended, 1, 500) > 0) return absl::OkStatus();
    const double seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
    if (seconds > options.patience_s) {
      return absl::DeadlineExceededError(
          absl::StrFormat("%s has not ended in %d s; whet stop --now %s ends it at once, and whet "
                          "logs %s says what it does",
                          owner.text(), options.patience_s, options.root, options.root));
    }
    console->Status(absl::StrFormat("waiting for %s to end: %.0f s", owner.text(), seconds));
  }
}

// Returns false where nobody runs it.
absl::StatusOr<bool> StopRun(const StopOptions& options, Console* console) {
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(options.root));
  std::string owner_text;
  for (int look = 0; look < kLooksMax; ++look) {
    const std::optional<RunOwner> owner = RunDir::Owner(paths);
    if (!owner) return false;
    owner_text = owner->text();
    ASSIGN_OR_RETURN(const UniqueFd process, OpenOwner(paths, *owner));
    if (!process) {
      std::this_thread::sleep_for(kLookAgain);
      continue;
    }
    RETURN_IF_ERROR(Signal(process, *owner, SIGTERM));
    // Two that are alike may come as one.
    if (options.now) RETURN_IF_ERROR(Signal(process, *owner, SIGINT));
    RETURN_IF_ERROR(WaitForEnd(process, *owner, options, console));
    return true;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      options.root, " belongs to ", owner_text,
      ", which is not to be seen from here: stop it as its user, or in its container"));
}

int Stop(const StopOptions& options) {
  Console console(options.json);
  const absl::StatusOr<bool> stopped = StopRun(options, &console);
  if (!stopped.ok()) return console.Fail(stopped.status());
  console.Line(*stopped ? absl::StrCat("stopped; whet status ", options.root, " says where it is")
                        : absl::StrCat(options.root, " is not running"));
  console.Result({{"run_dir", options.root}, {"stopped", *stopped}});
  return kExitOk;
}

}  // namespace

void AddStop(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<StopOptions>();
  CLI::App* command = app->add_subcommand(
      "stop",
      "Stop a run of this host, wherever it was started\n\nAs Ctrl-C there does, a second one at "
      "once; whet resume goes on. It is no error if nobody runs it.");
  command->add_option("RUN", options->root, "Run directory")->required();
  command->add_flag("--now", options->now, "At once, as a second Ctrl-C does");
  command->add_option("--patience", options->patience_s, "Seconds to wait for its end")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return Stop(*options); }; });
}

}  // namespace whetstone
