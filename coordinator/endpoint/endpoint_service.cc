#include "coordinator/endpoint/endpoint_service.h"

#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/grpc_status.h"
#include "common/host.h"
#include "common/status_macros.h"
#include "coordinator/endpoint/http.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCallPoll{100};
// With the poll, that is at least once a second.
constexpr milliseconds kProgressEvery{800};

absl::Status CheckRequest(const v1::GenerateRequest& request) {
  for (const v1::PromptGroup& group : request.groups()) {
    if (!group.response_prefix().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "group ", group.group_index(),
          " has a response_prefix: a model behind an endpoint begins its answer by itself; take "
          "the prefix out of the problem's prompt"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

EndpointService::EndpointService(ChatClient* client, const std::string& url, std::string model,
                                 std::string version, const GenerationOptions& options)
    : client_(client), options_(options) {
  info_.set_version(std::move(version));
  info_.set_host_id(IsOnLoopback(url) ? HostId() : url);
  info_.set_hostname(Hostname());
  info_.set_device("endpoint");
  info_.set_world_size(1);
  info_.set_model(std::move(model));
}

v1::TrainerInfo EndpointService::Info() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  v1::TrainerInfo info = info_;
  info.set_unix_time(UnixSeconds());
  const TrainerGate::Holding holding = gate_.holding();
  info.set_held_by(holding.campaign_id);
  info.set_heard_s(holding.heard_s);
  return info;
}

grpc::Status EndpointService::GetInfo(grpc::ServerContext*, const v1::TrainerInfoRequest* request,
                                      v1::TrainerInfo* response) {
  gate_.Hear(HolderOf(request->holder()), request->release());
  *response = Info();
  return grpc::Status::OK;
}

grpc::Status EndpointService::LoadCheckpoint(grpc::ServerContext*,
                                             const v1::LoadCheckpointRequest* request,
                                             v1::LoadCheckpointResponse* response) {
  const absl::StatusOr<TrainerHolder> holder =
      gate_.Load(request->campaign_id(), request->steal(), [&](const TrainerHolder& by) {
        const std::lock_guard<std::mutex> lock(mutex_);
        info_.set_campaign_id(by.campaign_id);
        gate_.Loaded(by);
        return absl::OkStatus();
      });
  if (!holder.ok()) return ToGrpcStatus(holder.status());
  *response->mutable_info() = Info();
  response->mutable_holder()->set_campaign_id(holder->campaign_id);
  response->mutable_holder()->set_epoch(holder->epoch);
  return grpc::Status::OK;
}

grpc::Status EndpointService::Generate(grpc::ServerContext* context,
                                       const v1::GenerateRequest* request,
                                       grpc::ServerWriter<v1::GenerateEvent>* writer) {
  return ToGrpcStatus(Stream(context, HolderOf(request->holder()), *request, writer));
}

absl::Status EndpointService::Stream(grpc::ServerContext* context, const TrainerHolder& caller,
                                     const v1::GenerateRequest& request,
                                     grpc::ServerWriter<v1::GenerateEvent>* writer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<void> running, gate_.Begin(caller));
  RETURN_IF_ERROR(CheckRequest(request));
  bool reader_lives = true;
  const auto write = [&](const v1::GenerateEvent& event) {
    reader_lives = reader_lives && writer->Write(event);
  };
  for (const v1::PromptGroup& group : request.groups()) {
    v1::GenerateEvent event;
    event.mutable_prompt()->set_group_index(group.group_index());
    write(event);
  }
  Generation generation(request, options_, client_);
  auto last_progress = std::chrono::steady_clock::now();
  while (true) {
    // `done` is asked before the queue, so that what came before the end is seen after it.
    const bool done = generation.Done();
    if (!gate_.Check(caller).ok() || !reader_lives || context->IsCancelled()) generation.Cancel();
    std::optional<v1::Completion> completion = generation.Next(done ? milliseconds(0) : kCallPoll);
    if (completion.has_value()) {
      v1::GenerateEvent event;
      *event.mutable_completion() = *std::move(completion);
      write(event);
    } else if (done) {
      break;
    }
    const auto now = std::chrono::steady_clock::now();
    if (now - last_progress >= kProgressEvery) {
      v1::GenerateEvent event;
      *event.mutable_progress() = generation.Progress();
      write(event);
      last_progress = now;
    }
  }
  RETURN_IF_ERROR(gate_.Check(caller));  // or it was cancelled for another
  return generation.status();
}

}  // namespace whetstone
