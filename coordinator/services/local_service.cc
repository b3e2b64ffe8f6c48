#include "coordinator/services/local_service.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/services/health.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kHealthPoll{200};
constexpr milliseconds kDeathPoll{50};
constexpr int kLogLines = 5;

}  // namespace

absl::StatusOr<std::string> FindServiceBinary(const std::string& bin_dir, const std::string& name) {
  const std::string path = absl::StrCat(bin_dir.empty() ? ProgramDirectory() : bin_dir, "/", name);
  if (access(path.c_str(), X_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(path,
                                            " is missing: the services lie beside whet; "
                                            "build or install them together"));
  }
  return path;
}

LocalService::LocalService(LocalServiceOptions options) : options_(std::move(options)) {
  thread_ = std::thread([this] { Run(); });
}

LocalService::~LocalService() {
  BeginStop();
  thread_.join();
}

void LocalService::BeginStop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

absl::Status LocalService::WaitReady(const std::function<bool()>& cancelled) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ready_ && failed_.ok()) {
    changed_.wait_for(lock, kDeathPoll);
    if (cancelled && cancelled()) {
      return absl::CancelledError(absl::StrCat("stopped while starting the ", options_.name));
    }
  }
  return failed_;
}

absl::Status LocalService::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failed_;
}

void LocalService::Run() {
  int restarts = 0;
  for (bool first = true;; first = false) {
    Report(ServiceEvent::State::kConnecting,
           absl::StrCat("starting ", options_.argv[0], " (log: ", options_.log_path, ")"));
    absl::Status status = StartOnce();
    if (status.ok()) {
      const auto healthy_since = std::chrono::steady_clock::now();
      Report(ServiceEvent::State::kReady, "", !first);
      std::optional<std::string> how;
      while (!(how = child_->Ended()).has_value()) {
        if (SleepUnlessStopping(kDeathPoll)) break;
      }
      if (how.has_value()) status = Ended(*how);
      if (std::chrono::steady_clock::now() - healthy_since >= options_.settled) restarts = 0;
    }
    if (Stopping()) break;
    // What can't even start would not start the next time either.
    const bool never_started = first && !ready_;
    if (never_started || restarts >= options_.restarts_max) {
      const std::string times =
          never_started ? "" : absl::StrCat(" It was restarted ", restarts, " times already.");
      Report(ServiceEvent::State::kFailed, absl::StrCat(status.message(), times));
      break;
    }
    ++restarts;
    Report(ServiceEvent::State::kLost, absl::StrCat(status.message(), " Restarting it (", restarts,
                                                    " of ", options_.restarts_max, ")."));
  }
  child_.reset();
}

absl::Status LocalService::StartOnce() {
  child_.reset();
  ChildOptions child;
  child.argv = options_.argv;
  child.log_path = options_.log_path;
  child.life_line = true;
  ASSIGN_OR_RETURN(child_, ChildProcess::Start(child));
  const auto deadline = std::chrono::steady_clock::now() + options_.start_deadline;
  absl::Status health;
  while (std::chrono::steady_clock::now() < deadline) {
    health = CheckServing(options_.target, kHealthPoll);
    if (const auto how = child_->Ended(); how.has_value()) return Ended(*how);
    if (health.ok()) return absl::OkStatus();
    if (Stopping()) return absl::CancelledError("stopped");
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "the ", options_.name, " did not become healthy within ",
      std::chrono::duration_cast<std::chrono::seconds>(options_.start_deadline).count(),
      " s: ", health.message(), ". Last lines of ", options_.log_path, ":\n",
      LastLines(options_.log_path, kLogLines)));
}

absl::Status LocalService::Ended(const std::string& how) const {
  return absl::UnavailableError(absl::StrCat("the ", options_.name, " ended by itself (", how,
                                             "). Last lines of ", options_.log_path, ":\n",
                                             LastLines(options_.log_path, kLogLines)));
}

bool LocalService::Stopping() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stopping_;
}

bool LocalService::SleepUnlessStopping(milliseconds time) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return stopping_; });
}

void LocalService::Report(ServiceEvent::State state, const std::string& detail, bool restarted) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (state == ServiceEvent::State::kReady) ready_ = true;
    if (state == ServiceEvent::State::kFailed) failed_ = absl::UnavailableError(detail);
  }
  changed_.notify_all();
  if (options_.on_event) options_.on_event({options_.name, state, detail, restarted});
}

}  // namespace whetstone
