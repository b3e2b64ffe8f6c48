// A run belongs to whoever holds the lock of its directory: a flock on RUN/lock, which the kernel
// lets go of with its process. The file says who that is, for messages.
//
// Where the run lies on a network file system that lock may be seen by the owner's host alone. The
// owner then has RUN/lock.host as well, which only one process can make. It is removed when the
// owner ends; if that was killed, a process of the same boot of the same host, by the same mount (a
// container may have another), which sees its lock, may replace it, and nobody else.
//
//   ASSIGN_OR_RETURN(RunLock lock, RunLock::Open(paths.lock()));
//   ASSIGN_OR_RETURN(const bool taken, lock.TryTake());
#ifndef WHETSTONE_COORDINATOR_JOURNAL_RUN_LOCK_H_
#define WHETSTONE_COORDINATOR_JOURNAL_RUN_LOCK_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace whetstone {

struct RunOwner {
  int pid = 0;       // 0: unknown
  std::string host;  // its name; empty in an earlier version's file
  std::string boot_id;
  std::string device;  // the number of the mount by which it sees the run
  // The file that alone speaks for it, where it may have ended unseen; empty: its lock was seen.
  std::string claim;

  // Returns whether it is a process of this host, as far as is known.
  bool here() const;
  // Returns "process 12", or "process 12 on host gate2" of another host.
  std::string text() const;
  // Returns "; from here nobody can see …" and what to do; empty where its lock was seen.
  std::string doubt() const;
};

// A RunLock is not thread-safe. It is let go of with the object, or with the process.
class RunLock {
 public:
  // Opens the file, made if missing, and takes nothing.
  static absl::StatusOr<RunLock> Open(const std::string& path);
  // Takes the lock unless another process has it, which is looked at for 0.5 s: a reader's look at
  // the owner holds it for a moment. FAILED_PRECONDITION: a process of another host may have it,
  // which is named, or the file system has no locks.
  absl::StatusOr<bool> TryTake();
  RunLock(RunLock&&) = default;
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

  // Returns who holds the lock at `path`, or may hold it unseen (RunOwner::claim); nobody if it is
  // free, or can't be read. Writes nothing.
  static std::optional<RunOwner> Holder(const std::string& path);

 private:
  RunLock(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  absl::Status Claim();

  std::string path_;
  UniqueFd fd_;
  std::string claim_;  // what is in RUN/lock.host, while that is ours
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_RUN_LOCK_H_
