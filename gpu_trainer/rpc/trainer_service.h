// The Trainer service of proto/whetstone/v1/trainer.proto on one policy.
//
// Who runs what: gRPC's threads take calls, check them and wait; ComputeThread alone touches the
// policy; GetInfo reads a copy behind a mutex, so it answers while an update computes.
#ifndef WHETSTONE_GPU_TRAINER_RPC_TRAINER_SERVICE_H_
#define WHETSTONE_GPU_TRAINER_RPC_TRAINER_SERVICE_H_

#include <torch/torch.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/profile/machine.h"
#include "gpu_trainer/profile/step_profile.h"
#include "gpu_trainer/rpc/compute_thread.h"
#include "gpu_trainer/state/policy.h"
#include "gpu_trainer/tokenizer/chat.h"
#include "gpu_trainer/tokenizer/tokenizer.h"
#include "whetstone/v1/trainer.grpc.pb.h"

namespace whetstone {

struct TrainerOptions {
  torch::Device device = torch::kCPU;
  torch::ScalarType dtype = torch::kBFloat16;
  int threads = 0;  // 0: one for each core
};

class TrainerService final : public v1::Trainer::Service {
 public:
  explicit TrainerService(const TrainerOptions& options);

  // LoadCheckpoint without a call, for a model named on the command line.
  absl::Status Load(const v1::LoadCheckpointRequest& request);

  // The work in progress; empty: idle.
  std::string Busy() const { return compute_.Busy(); }

  grpc::Status GetInfo(grpc::ServerContext* context, const v1::TrainerInfoRequest* request,
                       v1::TrainerInfo* response) override;
  grpc::Status LoadCheckpoint(grpc::ServerContext* context,
                              const v1::LoadCheckpointRequest* request,
                              v1::LoadCheckpointResponse* response) override;
  grpc::Status Generate(grpc::ServerContext* context, const v1::GenerateRequest* request,
                        grpc::ServerWriter<v1::GenerateEvent>* writer) override;
  grpc::Status Update(grpc::ServerContext* context, const v1::UpdateRequest* request,
                      v1::UpdateResponse* response) override;
  grpc::Status SaveCheckpoint(grpc::ServerContext* context,
                              const v1::SaveCheckpointRequest* request,
                              v1::SaveCheckpointResponse* response) override;
  grpc::Status RemoveCheckpoints(grpc::ServerContext* context,
                                 const v1::RemoveCheckpointsRequest* request,
                                 v1::RemoveCheckpointsResponse* response) override;
  grpc::Status Score(grpc::ServerContext* context, const v1::ScoreRequest* request,
                     v1::ScoreResponse* response) override;

 private:
  // Everything that belongs to one loaded model; replaced as a whole.
  struct Model {
    std::unique_ptr<Policy> policy;
    std::unique_ptr<Tokenizer> tokenizer;
    ChatOptions chat_options;
    absl::StatusOr<ChatFormat> chat = absl::UnknownError("");  // an error: a model without template
    std::unique_ptr<Engine> engine;
  };

  // These run on the compute thread.
  absl::Status LoadNow(const v1::LoadCheckpointRequest& request);
  absl::Status UpdateNow(const v1::UpdateRequest& request, v1::UpdateResponse* response);
  absl::StatusOr<UpdateResult> Learn(const v1::UpdateRequest& request);
  // Adds profile_ to the answer of the update it ends with.
  void AddProfile(v1::UpdateResponse* response);
  absl::StatusOr<std::vector<LearnedSequence>> Tokenize(const v1::SftBatch& batch) const;
  absl::StatusOr<std::vector<int32_t>> PromptIds(
      const google::protobuf::RepeatedPtrField<v1::Message>& messages,
      const std::string& response_prefix) const;
  absl::StatusOr<Model*> Loaded() const;

  // Waits for the work; CANCELLED as soon as the call is (the client went, or the server stops; the
  // work goes on). So `work` may borrow from the service only. `context` may be null.
  absl::Status Run(grpc::ServerContext* context, std::string name,
                   std::function<absl::Status()> work);

  const TrainerOptions options_;
  // Compute thread only.
  std::unique_ptr<Model> model_;
  // Of the calls since the last update that asked for a profile.
  struct {
    StepProfile step;
    int64_t sequences = 0;
  } profile_;
  std::optional<MachineSpeed> machine_;  // measured when first needed

  std::mutex info_mutex_;
  v1::TrainerInfo info_;  // guarded by info_mutex_
  // Last: its thread uses all of the above.
  mutable ComputeThread compute_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_TRAINER_SERVICE_H_
