// A LiveRun is a live run's process, asked through its run directory.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<LiveRun> run, LiveRun::Find(root, "it has no workers"));
//   run->Call(&v1::Coordinator::Stub::ListWorkers, v1::ListWorkersRequest());
//
// It is not thread-safe.
#ifndef WHETSTONE_COORDINATOR_CLI_LIVE_RUN_H_
#define WHETSTONE_COORDINATOR_CLI_LIVE_RUN_H_

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "coordinator/loop/control_address.h"
#include "coordinator/rpc/grpc_channel.h"
#include "whetstone/v1/coordinator.grpc.pb.h"

namespace whetstone {

class LiveRun {
 public:
  // FAILED_PRECONDITION: nobody runs it, so `otherwise`, or a process of another host does.
  // NOT_FOUND: no run is there.
  static absl::StatusOr<std::unique_ptr<LiveRun>> Find(const std::string& root,
                                                       const std::string& otherwise);

  // `call` is a method of the stub. Errors are those of the method (coordinator.proto), and
  // UNAVAILABLE where the process does not listen, or no longer.
  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Call(grpc::Status (v1::Coordinator::Stub::*call)(grpc::ClientContext*,
                                                                         const Request&, Reply*),
                             const Request& request) {
    absl::StatusOr<Reply> reply = CallStub(stub_.get(), call, request, {kDeadline, nullptr});
    if (absl::IsUnavailable(reply.status())) {
      return absl::UnavailableError(absl::StrCat(root_, ": ", reply.status().message()));
    }
    return reply;
  }

 private:
  // Connecting to a worker takes at most half of it.
  static constexpr std::chrono::seconds kDeadline{60};

  LiveRun(std::string root, ControlAddress address);

  const std::string root_;
  const ControlAddress address_;
  const std::unique_ptr<v1::Coordinator::Stub> stub_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CLI_LIVE_RUN_H_
