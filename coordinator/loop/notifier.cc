#include "coordinator/loop/notifier.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "coordinator/process/child_process.h"
#include "coordinator/report/lines_file.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What a command that is ended has for tidying up.
constexpr milliseconds kNotifyGrace{500};
// The kernel takes no longer value of an environment variable than 128 KiB.
constexpr size_t kTextBytesMax = 16'000;

// Returns a file in memory that holds the text, to be read from its beginning.
absl::StatusOr<UniqueFd> InMemory(const std::string& text) {
  UniqueFd file(memfd_create("notification", MFD_CLOEXEC));
  if (!file) return absl::ErrnoToStatus(errno, "cannot make a file in memory");
  const ssize_t written = write(file.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size()) || lseek(file.get(), 0, SEEK_SET) != 0) {
    return absl::ErrnoToStatus(written < 0 ? errno : EIO, "cannot write a file in memory");
  }
  return file;
}

absl::StatusOr<std::unique_ptr<ChildProcess>> StartWithInput(ChildOptions options,
                                                             const std::string& text) {
  ASSIGN_OR_RETURN(const UniqueFd input, InMemory(text));
  options.input = input.get();
  return ChildProcess::Start(options);
}

// A value of the environment ends at its first zero byte.
std::string EnvironmentText(std::string text) {
  std::ranges::replace(text, '\0', ' ');
  if (text.size() > kTextBytesMax) text.resize(kTextBytesMax);
  return text;
}

}  // namespace

Notifier::Notifier(std::string command, std::string run, std::string name, std::string log_path,
                   std::function<void(const std::string&)> warn, milliseconds deadline)
    : command_(std::move(command)),
      run_(std::move(run)),
      name_(std::move(name)),
      log_path_(std::move(log_path)),
      warn_(std::move(warn)),
      deadline_(deadline) {
  if (!command_.empty()) thread_ = std::thread([this] { Work(); });
}

void Notifier::End(milliseconds limit) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
    end_ = steady_clock::now() + limit;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Notifier::Tell(Notification notification) {
  if (command_.empty()) return;
  bool full = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    full = waiting_.size() == kWaitingMax;
    if (full) waiting_.pop_front();
    waiting_.push_back(std::move(notification));
  }
  changed_.notify_all();
  if (full) {
    warn_(absl::StrCat("notify.command is too slow: the oldest of ", kWaitingMax,
                       " waiting notifications is left out"));
  }
}

void Notifier::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    if (ending_ && steady_clock::now() >= end_) {
      const size_t left = waiting_.size();
      lock.unlock();
      warn_(absl::StrCat("notify.command took too long: ", left, " notification(s) left out"));
      return;
    }
    const Notification notification = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Run(notification);
    lock.lock();
  }
}

bool Notifier::NoTimeIsLeft() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ending_ && steady_clock::now() >= end_;
}

void Notifier::Run(const Notification& notification) {
  nlohmann::ordered_json json = {{"event", notification.event},
                                 {"run", run_},
                                 {"name", name_},
                                 {"step", notification.step},
                                 {"text", notification.text},
                                 {"unix_time", UnixSeconds()}};
  json.update(notification.more);
  ChildOptions options;
  options.argv = {"/bin/sh", "-c", command_};
  options.log_path = log_path_;
  options.environment = {{"WHET_EVENT", notification.event},
                         {"WHET_RUN", EnvironmentText(run_)},
                         {"WHET_NAME", EnvironmentText(name_)},
                         {"WHET_STEP", absl::StrCat(notification.step)},
                         {"WHET_TEXT", EnvironmentText(notification.text)}};
  const absl::StatusOr<std::unique_ptr<ChildProcess>> child =
      StartWithInput(std::move(options), JsonLine(json) + "\n");
  if (!child.ok()) {
    return warn_(absl::StrCat("notify.command was not told of '", notification.event,
                              "': ", child.status().message()));
  }
  // The end may come meanwhile, and then there is less time.
  const std::optional<std::string> how =
      (*child)->Wait(deadline_, [this] { return NoTimeIsLeft(); });
  if (!how) (*child)->Stop(kNotifyGrace);
  if (how == "exit code 0") return;
  const std::string said = LastLines(log_path_, 1);
  warn_(absl::StrCat("notify.command, told of '", notification.event, "', ",
                     how ? absl::StrCat("failed (", *how, ")") : "did not end in time",
                     said.empty() ? "" : absl::StrCat(": ", said), "; its output is in ",
                     log_path_));
}

}  // namespace whetstone
