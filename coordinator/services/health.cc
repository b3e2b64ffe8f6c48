#include "coordinator/services/health.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <vector>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

constexpr std::chrono::milliseconds kPoll{50};

// HealthCheckResponse{status: SERVING} on the wire: field 1, varint 1. The request for the server
// as a whole is empty. The generated classes are not packaged, and these two bytes never change.
bool SaysServing(const grpc::ByteBuffer& response) {
  std::vector<grpc::Slice> slices;
  if (!response.Dump(&slices).ok()) return false;
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes == std::string("\x08\x01", 2);
}

}  // namespace

absl::Status CheckServing(const std::string& target, std::chrono::milliseconds deadline,
                          const std::function<bool()>& cancelled) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  grpc::GenericStub stub(
      grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + deadline);
  context.set_wait_for_ready(true);
  grpc::CompletionQueue queue;
  const grpc::ByteBuffer request{nullptr, 0};
  grpc::ByteBuffer response;
  grpc::Status status;
  const auto call =
      stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  const auto soon = [] { return std::chrono::system_clock::now() + kPoll; };
  // The call's deadline bounds this wait.
  while (queue.AsyncNext(&tag, &ok, soon()) == grpc::CompletionQueue::TIMEOUT) {
    if (cancelled && cancelled()) context.TryCancel();
  }
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  if (!status.ok()) {
    return absl::UnavailableError(
        absl::StrCat("no healthy server at ", target, ": ", status.error_message()));
  }
  if (!SaysServing(response)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server at ", target, " says it is not serving"));
  }
  return absl::OkStatus();
}

}  // namespace whetstone
