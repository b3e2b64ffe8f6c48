// An AskedWorker is one worker that a command asks for verdicts by itself, without a campaign's
// queue. Every call has its deadline.
#ifndef WHETSTONE_COORDINATOR_LOOP_ASKED_WORKER_H_
#define WHETSTONE_COORDINATOR_LOOP_ASKED_WORKER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "coordinator/rpc/worker_client.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// As `least_speedup`: nothing is so fast, so it is timed no longer than every verdict is.
inline constexpr double kBriefly = 1e6;

// One thread at a time may ask; any may cancel.
class AskedWorker {
 public:
  // The names of its candidates begin with `candidates`, as those of nobody else do whom this
  // worker has measured for: a worker repeats the verdict of a name that it knows.
  AskedWorker(std::unique_ptr<WorkerClient> client, std::string candidates)
      : client_(std::move(client)), name_(std::move(candidates)) {}

  absl::StatusOr<v1::WorkerInfo> Info();
  // Calls PutProblem and returns the calibration, measured or kept as `keeping` says.
  absl::StatusOr<v1::Calibration> Put(
      const v1::Problem& problem, v1::PutProblemRequest::Keeping keeping,
      v1::IsolationLevel isolation_min = v1::ISOLATION_LEVEL_UNSPECIFIED);
  // Measures a candidate of a problem that was Put. With `fresh` it never answers from the verdict
  // cache. Where the worker itself fails it is asked once more, and then that is an INTERNAL error:
  // a verdict is never INFRASTRUCTURE_ERROR. INVALID_ARGUMENT: the problem's
  // reference, generator or the like did not come to its end, twice. `least_speedup` is as in
  // MeasureRequest.
  absl::StatusOr<v1::Verdict> Measure(const v1::Problem& problem, const std::string& source,
                                      bool time, bool fresh, double least_speedup = 0);
  // Ends the call that is under way, and every later one, with CANCELLED.
  void Cancel() { control_.Cancel(); }

 protected:
  absl::StatusOr<v1::Calibration> Put(const v1::Problem& problem, v1::PutProblemRequest request);

 private:
  const std::unique_ptr<WorkerClient> client_;
  const std::string name_;
  CallControl control_;
  int candidates_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_ASKED_WORKER_H_
