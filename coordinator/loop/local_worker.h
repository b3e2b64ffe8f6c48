// Commands without a campaign (`whet measure`, `whet problem check`) have a worker on this machine:
// started, ready, and gone with the object.
#ifndef WHETSTONE_COORDINATOR_LOOP_LOCAL_WORKER_H_
#define WHETSTONE_COORDINATOR_LOOP_LOCAL_WORKER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/file.h"
#include "coordinator/rpc/worker_client.h"
#include "coordinator/services/cluster.h"
#include "coordinator/terminal/console.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

class LocalWorker {
 public:
  static absl::StatusOr<std::unique_ptr<LocalWorker>> Start();

  // Calls PutProblem with its deadline and returns the calibration, measured or kept as `keeping`
  // says.
  absl::StatusOr<v1::Calibration> Put(const v1::Problem& problem,
                                      v1::PutProblemRequest::Keeping keeping);
  // The same without measuring one, for who needs no rewards: those of this problem mean nothing.
  absl::StatusOr<v1::Calibration> PutUncalibrated(const v1::Problem& problem);
  // Measures a candidate of a problem that was Put. With `fresh` it never answers from the verdict
  // cache. Where the worker itself fails it is asked once more, and then that is an INTERNAL error:
  // a verdict is never INFRASTRUCTURE_ERROR. INVALID_ARGUMENT: the problem's reference
  // did not come to its end, twice. `least_speedup` is as in MeasureRequest.
  absl::StatusOr<v1::Verdict> Measure(const v1::Problem& problem, const std::string& source,
                                      bool time, bool fresh, double least_speedup = 0);

 private:
  absl::StatusOr<v1::Calibration> Put(const v1::Problem& problem, v1::PutProblemRequest request);

  LocalWorker(TempDir logs, std::unique_ptr<Cluster> cluster);
  TempDir logs_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<WorkerClient> client_;
  int candidates_ = 0;
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
