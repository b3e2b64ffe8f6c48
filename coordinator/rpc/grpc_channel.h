// Both gRPC clients share how a channel is made and how a unary call is run.
#ifndef WHETSTONE_COORDINATOR_RPC_GRPC_CHANNEL_H_
#define WHETSTONE_COORDINATOR_RPC_GRPC_CHANNEL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/grpc_status.h"
#include "coordinator/rpc/call_options.h"

namespace whetstone {

// The channel has messages of up to 256 MiB, 10 s pings and a reconnect back-off of 0.1 to 2 s.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target);

// A BoundContext is a ClientContext with its deadline set and its cancellation wired for as long as
// it lives.
class BoundContext {
 public:
  explicit BoundContext(const CallOptions& options);
  ~BoundContext();
  BoundContext(const BoundContext&) = delete;
  BoundContext& operator=(const BoundContext&) = delete;
  grpc::ClientContext* get() { return &context_; }

 private:
  grpc::ClientContext context_;
  CallControl* control_;
};

// Makes one unary call of a stub's method, and returns the server's own status.
template <typename Stub, typename Request, typename Reply>
absl::StatusOr<Reply> CallStub(Stub* stub,
                               grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                            Reply*),
                               const Request& request, const CallOptions& options) {
  BoundContext context(options);
  Reply reply;
  const absl::Status status = FromGrpcStatus((stub->*method)(context.get(), request, &reply));
  if (!status.ok()) return status;
  return reply;
}

// `what` names the call in the error: "Trainer.Update at unix:/…: …".
absl::Status CallStatus(const grpc::Status& status, const char* what, const std::string& target);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_RPC_GRPC_CHANNEL_H_
