#include "coordinator/services/health.h"

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace whetstone {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

constexpr std::chrono::milliseconds kPoll{50};

// Says what is known of a server that did not answer in time.
std::string Silence(absl::string_view target, std::chrono::milliseconds deadline) {
  struct stat info;
  if (absl::ConsumePrefix(&target, "unix:")) {
    const std::string path(target);
    if (stat(path.c_str(), &info) != 0) return absl::StrCat("there is no socket ", path);
    if (!S_ISSOCK(info.st_mode)) return absl::StrCat(path, " is no socket");
  }
  return absl::StrFormat("nothing answered within %g s",
                         std::chrono::duration<double>(deadline).count());
}

}  // namespace

absl::Status CheckServing(const std::string& target, std::chrono::milliseconds deadline,
                          const std::function<bool()>& cancelled) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = grpc::health::v1::Health::NewStub(
      grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + deadline);
  context.set_wait_for_ready(true);
  grpc::CompletionQueue queue;
  HealthCheckResponse response;
  grpc::Status status;
  const auto call = stub->AsyncCheck(&context, HealthCheckRequest(), &queue);
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
    const bool late = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
    return absl::UnavailableError(
        absl::StrCat("no healthy server at ", target, ": ",
                     late ? Silence(target, deadline) : std::string(status.error_message())));
  }
  if (response.status() != HealthCheckResponse::SERVING) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server at ", target, " says it is not serving"));
  }
  return absl::OkStatus();
}

}  // namespace whetstone
