// TrainerClient is the interface to a trainer: the RPCs of proto/whetstone/v1/trainer.proto as
// blocking calls.
//
//   const auto trainer = MakeGrpcTrainerClient("unix:/tmp/whet.Xy12ab/trainer.sock");
//   ASSIGN_OR_RETURN(v1::TrainerInfo info, trainer->GetInfo({}, {std::chrono::seconds(5)}));
//
// It is thread-safe. An error is the server's own status, or UNAVAILABLE (no connection, or it
// broke), DEADLINE_EXCEEDED or CANCELLED. Calls do not wait for a connection beyond their deadline.
#ifndef WHETSTONE_COORDINATOR_RPC_TRAINER_CLIENT_H_
#define WHETSTONE_COORDINATOR_RPC_TRAINER_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/rpc/call_options.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

class TrainerClient {
 public:
  virtual ~TrainerClient() = default;
  virtual absl::StatusOr<v1::TrainerInfo> GetInfo(const v1::TrainerInfoRequest& request,
                                                  const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::LoadCheckpointResponse> LoadCheckpoint(
      const v1::LoadCheckpointRequest& request, const CallOptions& options) = 0;
  // Calls `on_event` for every event, in order, on the calling thread; returns when the stream
  // ends.
  virtual absl::Status Generate(const v1::GenerateRequest& request,
                                const std::function<void(const v1::GenerateEvent&)>& on_event,
                                const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::UpdateResponse> Update(const v1::UpdateRequest& request,
                                                    const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::SaveCheckpointResponse> SaveCheckpoint(
      const v1::SaveCheckpointRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::RemoveCheckpointsResponse> RemoveCheckpoints(
      const v1::RemoveCheckpointsRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::ReadCheckpointResponse> ReadCheckpoint(
      const v1::ReadCheckpointRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::InspectModelResponse> InspectModel(
      const v1::InspectModelRequest& request, const CallOptions& options) = 0;
};

// `target` is a gRPC target such as "unix:/path". The client connects on first use and reconnects
// by itself with back-off of at most 2 s; messages have up to 256 MiB, and pings come every 10 s.
std::unique_ptr<TrainerClient> MakeGrpcTrainerClient(const std::string& target);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_RPC_TRAINER_CLIENT_H_
