#include "coordinator/rpc/grpc_channel.h"
#include "coordinator/rpc/trainer_client.h"
#include "whetstone/v1/trainer.grpc.pb.h"

namespace whetstone {
namespace {

class GrpcTrainerClient final : public TrainerClient {
 public:
  explicit GrpcTrainerClient(const std::string& target)
      : target_(target), stub_(v1::Trainer::NewStub(MakeChannel(target))) {}

  absl::StatusOr<v1::TrainerInfo> GetInfo(const v1::TrainerInfoRequest& request,
                                          const CallOptions& options) override {
    return Unary<v1::TrainerInfo>("Trainer.GetInfo", options, [&](auto* context, auto* reply) {
      return stub_->GetInfo(context, request, reply);
    });
  }
  absl::StatusOr<v1::LoadCheckpointResponse> LoadCheckpoint(
      const v1::LoadCheckpointRequest& request, const CallOptions& options) override {
    return Unary<v1::LoadCheckpointResponse>(
        "Trainer.LoadCheckpoint", options,
        [&](auto* context, auto* reply) { return stub_->LoadCheckpoint(context, request, reply); });
  }
  absl::Status Generate(const v1::GenerateRequest& request,
                        const std::function<void(const v1::GenerateEvent&)>& on_event,
                        const CallOptions& options) override {
    BoundContext context(options);
    const auto stream = stub_->Generate(context.get(), request);
    v1::GenerateEvent event;
    while (stream->Read(&event)) on_event(event);
    return CallStatus(stream->Finish(), "Trainer.Generate", target_);
  }
  absl::StatusOr<v1::UpdateResponse> Update(const v1::UpdateRequest& request,
                                            const CallOptions& options) override {
    return Unary<v1::UpdateResponse>("Trainer.Update", options, [&](auto* context, auto* reply) {
      return stub_->Update(context, request, reply);
    });
  }
  absl::StatusOr<v1::SaveCheckpointResponse> SaveCheckpoint(
      const v1::SaveCheckpointRequest& request, const CallOptions& options) override {
    return Unary<v1::SaveCheckpointResponse>(
        "Trainer.SaveCheckpoint", options,
        [&](auto* context, auto* reply) { return stub_->SaveCheckpoint(context, request, reply); });
  }
  absl::StatusOr<v1::RemoveCheckpointsResponse> RemoveCheckpoints(
      const v1::RemoveCheckpointsRequest& request, const CallOptions& options) override {
    return Unary<v1::RemoveCheckpointsResponse>(
        "Trainer.RemoveCheckpoints", options, [&](auto* context, auto* reply) {
          return stub_->RemoveCheckpoints(context, request, reply);
        });
  }
  absl::StatusOr<v1::ReadCheckpointResponse> ReadCheckpoint(
      const v1::ReadCheckpointRequest& request, const CallOptions& options) override {
    return Unary<v1::ReadCheckpointResponse>(
        "Trainer.ReadCheckpoint", options,
        [&](auto* context, auto* reply) { return stub_->ReadCheckpoint(context, request, reply); });
  }
  absl::StatusOr<v1::InspectModelResponse> InspectModel(const v1::InspectModelRequest& request,
                                                        const CallOptions& options) override {
    return Unary<v1::InspectModelResponse>(
        "Trainer.InspectModel", options,
        [&](auto* context, auto* reply) { return stub_->InspectModel(context, request, reply); });
  }

 private:
  template <typename Reply, typename Call>
  absl::StatusOr<Reply> Unary(const char* what, const CallOptions& options, const Call& call) {
    BoundContext context(options);
    Reply reply;
    const absl::Status status = CallStatus(call(context.get(), &reply), what, target_);
    if (!status.ok()) return status;
    return reply;
  }

  const std::string target_;
  const std::unique_ptr<v1::Trainer::Stub> stub_;
};

}  // namespace

std::unique_ptr<TrainerClient> MakeGrpcTrainerClient(const std::string& target) {
  return std::make_unique<GrpcTrainerClient>(target);
}

}  // namespace whetstone
