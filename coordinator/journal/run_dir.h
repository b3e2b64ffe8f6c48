// RunPaths and RunDir alone know what lies where in a run directory, and who owns it.
//
//   RUN/campaign.yaml          the campaign, resolved and frozen
//   RUN/inputs/                copies of its prompt files and of the worked examples it shows
//   RUN/journal.db             every rollout, verdict and update (journal.h)
//   RUN/metrics.jsonl          one line per update, made from the journal
//   RUN/tensorboard/           the same for TensorBoard
//   RUN/checkpoints/           where a local trainer saves, and `whet fetch` brings, the policy
//   RUN/best/<problem>/        the fastest verified programs
//   RUN/suspects/              programs that were faster than physics allows (proof/suspects.h)
//   RUN/report.html            `whet report`
//   RUN/portable.json         `whet portable`
//   RUN/logs/                  whet.log, trainer.log, worker.log
//   RUN/workers.yaml           who measures, once `whet workers` has changed it (worker_list.h)
//   RUN/paused                 since when, while it is paused (pause_file.h)
//   RUN/control.sock           where the owning process can be asked (run_control.h)
//   RUN/lock                   held by the owning process, says which that is (run_lock.h)
//   RUN/lock.host              the same for other hosts, on network file systems
#ifndef WHETSTONE_COORDINATOR_JOURNAL_RUN_DIR_H_
#define WHETSTONE_COORDINATOR_JOURNAL_RUN_DIR_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/journal/run_lock.h"

namespace whetstone {

// RunPaths are the paths within a run directory, all absolute. It touches nothing.
class RunPaths {
 public:
  // `root` may be relative to the current directory, and end in a slash or '.'.
  explicit RunPaths(const std::string& root);
  // Ends in no slash: what is in the run begins with this and one.
  const std::string& root() const { return root_; }
  std::string campaign() const { return root_ + "/campaign.yaml"; }
  std::string inputs() const { return root_ + "/inputs"; }
  std::string journal() const { return root_ + "/journal.db"; }
  std::string metrics() const { return root_ + "/metrics.jsonl"; }
  std::string tensorboard() const { return root_ + "/tensorboard"; }
  std::string checkpoints() const { return root_ + "/checkpoints"; }
  std::string best(const std::string& problem_id) const { return root_ + "/best/" + problem_id; }
  // What was faster than physics allows, for people to read.
  std::string suspects() const { return root_ + "/suspects"; }
  std::string report() const { return root_ + "/report.html"; }
  std::string portable() const { return root_ + "/portable.json"; }
  std::string logs() const { return root_ + "/logs"; }
  // What an endpoint was asked, over all starts (coordinator/endpoint/usage_ledger.h).
  std::string endpoint_usage() const { return logs() + "/endpoint_usage.jsonl"; }
  std::string workers() const { return root_ + "/workers.yaml"; }
  std::string paused() const { return root_ + "/paused"; }
  std::string lock() const { return root_ + "/lock"; }
  // Returns the command that makes campaign.yaml what it was when the run began, of what the
  // journal has of it.
  std::string PutCampaignBack() const;

 private:
  std::string root_;
};

// A RunDir owns a run directory: at most one process at a time. The lock goes with the object, or
// with the process. It is not thread-safe.
class RunDir {
 public:
  // Makes a new directory (parents too) and locks it. One that holds a run which never got as far
  // as a rollout or an update, or not even as far as a journal, is emptied and used again.
  // ALREADY_EXISTS: it holds anything else.
  static absl::StatusOr<RunDir> Create(const std::string& root);
  // Services notice the death of the process that started them within 2 s.
  static constexpr std::chrono::seconds kPatience{15};
  // Locks an existing one. A predecessor that was killed a moment ago may still be dying, and its
  // services with it: waits up to `patience` for them (they are recognised by the log files they
  // hold open); `waiting` is called once if there is something to wait for. If it was paused, that
  // is over (pause_file.h). NOT_FOUND: no run there, or it lost its campaign.yaml.
  // FAILED_PRECONDITION: a living process owns it, or one of another host may, which is named.
  static absl::StatusOr<RunDir> Open(const std::string& root, std::chrono::seconds patience,
                                     const std::function<void(const std::string&)>& waiting);
  // Checks that a run is there and takes no lock: the read-only use of status, report and best.
  static absl::StatusOr<RunPaths> Find(const std::string& root);

  const RunPaths& paths() const { return paths_; }

  // Returns the living process that owns the run, if there is one: of any host. One of another host
  // may have ended unseen (RunOwner::doubt).
  static std::optional<RunOwner> Owner(const RunPaths& paths);

 private:
  RunDir(RunPaths paths, RunLock lock) : paths_(std::move(paths)), lock_(std::move(lock)) {}
  RunPaths paths_;
  RunLock lock_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_RUN_DIR_H_
