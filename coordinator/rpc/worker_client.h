// WorkerClient is the interface to a worker: the RPCs of proto/whetstone/v1/worker.proto as
// blocking calls. Rules and errors are those of trainer_client.h; it is thread-safe.
#ifndef WHETSTONE_COORDINATOR_RPC_WORKER_CLIENT_H_
#define WHETSTONE_COORDINATOR_RPC_WORKER_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/rpc/call_options.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

class WorkerClient {
 public:
  virtual ~WorkerClient() = default;
  virtual absl::StatusOr<v1::WorkerInfo> GetInfo(const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::PutProblemResponse> PutProblem(const v1::PutProblemRequest& request,
                                                            const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::MeasureResponse> Measure(const v1::MeasureRequest& request,
                                                      const CallOptions& options) = 0;
  virtual absl::Status Cancel(const v1::CancelRequest& request, const CallOptions& options) = 0;
};

std::unique_ptr<WorkerClient> MakeGrpcWorkerClient(const std::string& target);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_RPC_WORKER_CLIENT_H_
