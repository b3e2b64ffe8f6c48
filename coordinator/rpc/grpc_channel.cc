#include "coordinator/rpc/grpc_channel.h"

#include "absl/strings/str_cat.h"
#include "common/grpc_status.h"
#include "common/server.h"

namespace whetstone {

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetMaxSendMessageSize(kMessageBytesMax);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  // Every client has its own connection: a restarted service is never reached through a stale one.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

BoundContext::BoundContext(const CallOptions& options) : control_(options.control) {
  context_.set_deadline(std::chrono::system_clock::now() + options.deadline);
  if (control_ != nullptr) control_->Bind([this] { context_.TryCancel(); });
}

BoundContext::~BoundContext() {
  if (control_ != nullptr) control_->Unbind();
}

absl::Status CallStatus(const grpc::Status& status, const char* what, const std::string& target) {
  if (status.ok()) return absl::OkStatus();
  const absl::Status plain = FromGrpcStatus(status);
  // A server's own words stand alone; only a broken connection needs to say whose it was.
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE ||
      status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::Status(plain.code(), absl::StrCat(what, " at ", target, ": ", plain.message()));
  }
  return plain;
}

}  // namespace whetstone
