// A ChildProcess is a program started by this process that may not outlive it.
//
//   ChildOptions options;
//   options.argv = {"/opt/whetstone/bin/whet-worker", "--listen", "unix:/tmp/w.sock"};
//   options.log_path = run_dir + "/logs/worker.log";
//   options.life_line = true;                         // appends --life-line-fd N
//   ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> child, ChildProcess::Start(options));
//
// Two things end the child when this process ends, however it ends: the kernel's parent-death
// signal, and (for programs that know --life-line-fd) a pipe that closes. The parent-death signal
// fires when the *thread* that forked ends, so all children are forked by one thread that lives as
// long as the process.
#ifndef WHETSTONE_COORDINATOR_PROCESS_CHILD_PROCESS_H_
#define WHETSTONE_COORDINATOR_PROCESS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace whetstone {

struct ChildOptions {
  // These are the words of the command; argv[0] is a path, or a name looked up in PATH.
  std::vector<std::string> argv;
  // This file gets stdout and stderr appended (made if missing; its folder must exist); empty means
  // /dev/null.
  std::string log_path;
  // True passes a pipe's read end as `--life-line-fd N`; see common/life_line.h.
  bool life_line = false;
  // This descriptor (borrowed; -1: none) becomes stdin and stdout; only stderr then goes to the
  // log.
  int stdio = -1;
  // This descriptor (borrowed) becomes stdin alone, where there is no `stdio`; -1: /dev/null.
  int input = -1;
  // What the child's environment has besides this process's own, or in its place: values by name.
  std::map<std::string, std::string> environment = {};
};

// The class is thread-safe.
class ChildProcess {
 public:
  // Starts the program in a process group of its own (Ctrl-C on the terminal reaches this process,
  // which decides what happens to its children), with default signals, none of them blocked, no
  // inherited descriptors and, unless asked otherwise, stdin from /dev/null. What it leaves behind
  // in its group when it ends is killed. NOT_FOUND: no such program. Other errors: why it could not
  // be started.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(const ChildOptions& options);
  // Stops it: SIGTERM, and SIGKILL 5 s later.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  // Returns how it ended ("exit code 1", "killed by signal 9 (Killed)"), or nothing while it runs.
  std::optional<std::string> Ended();
  // Waits until it ends and returns how, or nothing if `limit` passes first or `cancelled` (asked
  // every few milliseconds; may be empty) says so; the program then still runs.
  std::optional<std::string> Wait(std::chrono::milliseconds limit,
                                  const std::function<bool()>& cancelled = {});
  // Sends SIGTERM, and SIGKILL if the program has not ended after `grace`. Returns when it has
  // ended.
  void Stop(std::chrono::milliseconds grace);

 private:
  ChildProcess(pid_t pid, int life_line) : pid_(pid), life_line_(life_line) {}

  const pid_t pid_;
  const int life_line_;  // the pipe's write end; -1: none
  std::mutex mutex_;
  std::optional<std::string> ended_;  // protected by mutex_
};

// Returns the last `lines` lines of a log, for a message; empty if it can't be read.
std::string LastLines(const std::string& path, int lines);

// Returns the folder this program lies in.
std::string ProgramDirectory();

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROCESS_CHILD_PROCESS_H_
