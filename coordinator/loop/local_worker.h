// Commands without a campaign (`whet measure`, `whet problem check`) have a worker on this machine:
// started, ready, and gone with the object.
#ifndef WHETSTONE_COORDINATOR_LOOP_LOCAL_WORKER_H_
#define WHETSTONE_COORDINATOR_LOOP_LOCAL_WORKER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/file.h"
#include "coordinator/loop/asked_worker.h"
#include "coordinator/services/cluster.h"
#include "coordinator/terminal/console.h"

namespace whetstone {

class LocalWorker : public AskedWorker {
 public:
  static absl::StatusOr<std::unique_ptr<LocalWorker>> Start();

  // Puts a problem without measuring its calibration, for who needs no rewards: those of this
  // problem mean nothing as long as the worker lives.
  absl::StatusOr<v1::Calibration> PutUncalibrated(const v1::Problem& problem);

 private:
  LocalWorker(TempDir logs, std::unique_ptr<Cluster> cluster);
  TempDir logs_;
  std::unique_ptr<Cluster> cluster_;
};

// A LocalWorker that is started when it is first asked for.
class WorkerOnDemand {
 public:
  // Says on the console, which is borrowed, that it starts.
  explicit WorkerOnDemand(Console* console) : console_(console) {}

  // Returns the worker, which stays this object's. Errors are those of LocalWorker::Start.
  absl::StatusOr<LocalWorker*> Get();

 private:
  Console* const console_;
  std::unique_ptr<LocalWorker> worker_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_LOCAL_WORKER_H_
