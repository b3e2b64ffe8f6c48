#include "gpu_trainer/rpc/trainer_service.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/grpc_status.h"
#include "common/status_macros.h"
#include "gpu_trainer/checkpoint/checkpoint.h"
#include "gpu_trainer/checkpoint/checkpoint_file.h"
#include "gpu_trainer/rpc/generate_stream.h"
#include "gpu_trainer/rpc/model_inspection.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPoll{200};
constexpr milliseconds kProgressEvery{1000};

}  // namespace

TrainerService::TrainerService(const TrainerOptions& options)
    : unused_gpu_(options.unused_gpu),
      ranks_(options.ranks != nullptr ? *options.ranks : alone_),
      trainer_(options.device, options.dtype, ranks_),
      compute_(options.threads, options.device) {}

absl::Status TrainerService::Run(grpc::ServerContext* context, std::string name,
                                 std::function<absl::Status()> work) {
  const ComputeThread::Ticket ticket = compute_.Submit(name, std::move(work));
  while (!ticket.WaitFor(kPoll)) {
    if (context != nullptr && context->IsCancelled()) {
      return absl::CancelledError(absl::StrCat(name, ": nobody waits for the answer any more"));
    }
  }
  return ticket.status();
}

absl::Status TrainerService::RunFor(const v1::Holder& holder, grpc::ServerContext* context,
                                    std::string name, std::function<absl::Status()> work) {
  const TrainerHolder caller = HolderOf(holder);
  ASSIGN_OR_RETURN(std::shared_ptr<void> running, gate_.Begin(caller));
  // The work owns it: it computes on when nobody waits any more.
  return Run(
      context, std::move(name),
      [this, caller, running = std::move(running), work = std::move(work)]() -> absl::Status {
        RETURN_IF_ERROR(gate_.Check(caller));
        return work();
      });
}

void TrainerService::Stop() {
  Run(/*context=*/nullptr, "Stop", [this] {
    trainer_.Stop();
    return absl::OkStatus();
  }).IgnoreError();
}

v1::TrainerInfo TrainerService::Info() const {
  v1::TrainerInfo info = trainer_.state().Info();
  info.set_threads(compute_.threads());
  info.set_unused_gpu(unused_gpu_);
  const TrainerGate::Holding holding = gate_.holding();
  info.set_held_by(holding.campaign_id);
  info.set_heard_s(holding.heard_s);
  return info;
}

grpc::Status TrainerService::GetInfo(grpc::ServerContext*, const v1::TrainerInfoRequest* request,
                                     v1::TrainerInfo* response) {
  gate_.Hear(HolderOf(request->holder()), request->release());
  *response = Info();
  return grpc::Status::OK;
}

absl::Status TrainerService::Load(const v1::LoadCheckpointRequest& request) {
  return Run(/*context=*/nullptr, "LoadCheckpoint",
             [this, request] { return trainer_.Load(request); });
}

grpc::Status TrainerService::LoadCheckpoint(grpc::ServerContext* context,
                                            const v1::LoadCheckpointRequest* request,
                                            v1::LoadCheckpointResponse* response) {
  const auto load = [&](const TrainerHolder& by) {
    return Run(/*context=*/nullptr, "LoadCheckpoint", [&]() -> absl::Status {
      RETURN_IF_ERROR(gate_.Check(by));
      if (context->IsCancelled()) return absl::CancelledError("cancelled before it began");
      RETURN_IF_ERROR(request->path().empty() ? CheckPolicyIsOf(request->campaign_id())
                                              : trainer_.Load(*request));
      *response->mutable_info() = Info();
      gate_.Loaded(by);
      return absl::OkStatus();
    });
  };
  const absl::StatusOr<TrainerHolder> holder =
      gate_.Load(request->campaign_id(), request->steal(), load);
  if (holder.ok()) {
    response->mutable_holder()->set_campaign_id(holder->campaign_id);
    response->mutable_holder()->set_epoch(holder->epoch);
    // Nobody learns that it holds the trainer.
    if (context->IsCancelled()) gate_.Hear(*holder, /*release=*/true);
  }
  return ToGrpcStatus(holder.status());
}

absl::Status TrainerService::CheckPolicyIsOf(const std::string& campaign_id) const {
  const v1::TrainerInfo info = trainer_.state().Info();
  if (!info.model().empty() && info.campaign_id() == campaign_id) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("this trainer holds no policy of campaign ",
                                                    campaign_id, "; load a checkpoint"));
}

grpc::Status TrainerService::Generate(grpc::ServerContext* context,
                                      const v1::GenerateRequest* request,
                                      grpc::ServerWriter<v1::GenerateEvent>* writer) {
  return ToGrpcStatus(StreamCompletions(context, HolderOf(request->holder()), *request, writer));
}

absl::Status TrainerService::StreamCompletions(grpc::ServerContext* context,
                                               const TrainerHolder& caller,
                                               const v1::GenerateRequest& request,
                                               grpc::ServerWriter<v1::GenerateEvent>* writer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<void> running, gate_.Begin(caller));
  GenerateStream stream([&] { return !gate_.Check(caller).ok(); });
  const ComputeThread::Ticket ticket = compute_.Submit("Generate", [&]() -> absl::Status {
    if (stream.cancelled()) return absl::CancelledError("cancelled before it began");
    RETURN_IF_ERROR(gate_.Check(caller));
    return trainer_.Generate(request, &stream);
  });

  // The work borrows `stream` and `request`, so this returns only when it is done.
  auto last_written = std::chrono::steady_clock::now();
  const auto write = [&](const v1::GenerateEvent& event) {
    if (!stream.cancelled() && !writer->Write(event)) stream.Cancel();
    last_written = std::chrono::steady_clock::now();
  };
  bool done = false;
  while (true) {
    // `done` is asked before the stream, so that what was pushed before the end is seen after it.
    done = ticket.WaitFor(milliseconds(0));
    if (context->IsCancelled()) stream.Cancel();
    const std::optional<v1::GenerateEvent> event = stream.Next(done ? milliseconds(0) : kPoll);
    if (event.has_value()) {
      write(*event);
    } else if (done) {
      break;
    } else if (std::chrono::steady_clock::now() - last_written >= kProgressEvery) {
      write(stream.Progress());
    }
  }
  RETURN_IF_ERROR(gate_.Check(caller));  // Or it was cancelled for another.
  return ticket.status();
}

grpc::Status TrainerService::Update(grpc::ServerContext* context, const v1::UpdateRequest* request,
                                    v1::UpdateResponse* response) {
  // The copies are shared: the work goes on when the server stops waiting for it.
  auto copy = std::make_shared<v1::UpdateRequest>(*request);
  copy->clear_holder();
  auto result = std::make_shared<v1::UpdateResponse>();
  const absl::Status status = RunFor(request->holder(), context, "Update", [this, copy, result] {
    return trainer_.Update(*copy, result.get());
  });
  if (status.ok()) *response = *result;
  return ToGrpcStatus(status);
}

grpc::Status TrainerService::SaveCheckpoint(grpc::ServerContext*,
                                            const v1::SaveCheckpointRequest* request,
                                            v1::SaveCheckpointResponse* response) {
  SavedCheckpoint saved;
  const absl::Status status = RunFor(request->holder(), /*context=*/nullptr, "SaveCheckpoint",
                                     [&] { return trainer_.Save(*request, &saved); });
  if (!status.ok()) return ToGrpcStatus(status);
  response->set_path(request->path());
  response->set_checksum(saved.checksum);
  response->set_bytes(saved.bytes);
  return grpc::Status::OK;
}

grpc::Status TrainerService::RemoveCheckpoints(grpc::ServerContext*,
                                               const v1::RemoveCheckpointsRequest* request,
                                               v1::RemoveCheckpointsResponse* response) {
  const absl::StatusOr<std::shared_ptr<void>> running = gate_.Begin(HolderOf(request->holder()));
  if (!running.ok()) return ToGrpcStatus(running.status());
  for (const std::string& path : request->paths()) {
    const absl::Status status = RemoveCheckpoint(path);
    if (!status.ok()) response->add_failures(std::string(status.message()));
  }
  return grpc::Status::OK;
}

grpc::Status TrainerService::ReadCheckpoint(grpc::ServerContext*,
                                            const v1::ReadCheckpointRequest* request,
                                            v1::ReadCheckpointResponse* response) {
  absl::StatusOr<std::string> piece =
      ReadCheckpointFile(request->path(), request->file(), request->offset(), request->length());
  if (piece.ok()) response->set_data(*std::move(piece));
  return ToGrpcStatus(piece.status());
}

grpc::Status TrainerService::Score(grpc::ServerContext* context, const v1::ScoreRequest* request,
                                   v1::ScoreResponse* response) {
  auto copy = std::make_shared<v1::ScoreRequest>(*request);
  auto result = std::make_shared<v1::ScoreResponse>();
  const absl::Status status = Run(context, "Score", [this, copy, result] {
    return trainer_.state().Score(*copy, result.get());
  });
  if (status.ok()) *response = std::move(*result);
  return ToGrpcStatus(status);
}

grpc::Status TrainerService::InspectModel(grpc::ServerContext*,
                                          const v1::InspectModelRequest* request,
                                          v1::InspectModelResponse* response) {
  *response = whetstone::InspectModel(*request);
  return grpc::Status::OK;
}

}  // namespace whetstone
