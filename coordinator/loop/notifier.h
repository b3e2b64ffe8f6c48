// A Notifier tells the campaign's `notify.command` what becomes of a run, one thing after the
// other and beside the campaign, which never waits for it.
//
//   Notifier notifier(command, "runs/mine", "mine", log_path, [&](const std::string& why) {…});
//   notifier.Tell({.event = "best", .text = "new best for matmul: 5.31x"});
//
// The command is run by /bin/sh -c with WHET_EVENT, WHET_RUN, WHET_NAME, WHET_STEP and WHET_TEXT in
// its environment, and one line of JSON on its standard input: event, run, name, step, text,
// unix_time, and what the event has besides. What it prints is appended to the log. It is ended
// after kDeadline, and what it leaves behind in its process group with it. A failure is only told.
#ifndef WHETSTONE_COORDINATOR_LOOP_NOTIFIER_H_
#define WHETSTONE_COORDINATOR_LOOP_NOTIFIER_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

namespace whetstone {

struct Notification {
  std::string event;  // "finish", "failure", "stall", "best", "alarm"
  std::string text;   // for people
  int64_t step = 0;   // GRPO steps that are done
  nlohmann::ordered_json more = nlohmann::ordered_json::object();  // further keys of the JSON
};

// It is thread-safe.
class Notifier {
 public:
  // The command has so long for one notification, and at the end for all that are left.
  static constexpr std::chrono::seconds kDeadline{30};
  // The same at the end where somebody waits for the run to stop.
  static constexpr std::chrono::seconds kStopDeadline{2};
  // So many wait at most; of more the oldest are left out, with a warning.
  static constexpr size_t kWaitingMax = 50;

  // An empty `command` tells nobody. `run` is the run directory, `name` the campaign's. `warn` may
  // be called on any thread.
  Notifier(std::string command, std::string run, std::string name, std::string log_path,
           std::function<void(const std::string&)> warn,
           std::chrono::milliseconds deadline = kDeadline);
  ~Notifier() { End(deadline_); }
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void Tell(Notification notification);
  // Waits until everything is told, but no longer than `limit`. Nothing is told after it.
  void End(std::chrono::milliseconds limit);
  // Returns whether there is a command to tell.
  bool tells() const { return !command_.empty(); }

 private:
  void Work();
  // Runs the command; ends it at the deadline, or at that of the end.
  void Run(const Notification& notification);
  bool NoTimeIsLeft();

  const std::string command_;
  const std::string run_;
  const std::string name_;
  const std::string log_path_;
  const std::function<void(const std::string&)> warn_;
  const std::chrono::milliseconds deadline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // mutex_ protects these three.
  std::deque<Notification> waiting_;
  bool ending_ = false;
  std::chrono::steady_clock::time_point end_;  // of everything, once it is ending
  std::thread thread_;                         // the last member: it uses the others
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_NOTIFIER_H_
