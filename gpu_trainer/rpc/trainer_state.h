// TrainerState is the state of one rank's trainer, a policy with all that belongs to it, and what
// the calls of trainer.proto do with it. It needs no gRPC and serves one thread; with several ranks
// all make the same calls in the same order (distributed_trainer.h).
#ifndef WHETSTONE_GPU_TRAINER_RPC_TRAINER_STATE_H_
#define WHETSTONE_GPU_TRAINER_RPC_TRAINER_STATE_H_

#include <torch/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_trainer/checkpoint/checkpoint.h"
#include "gpu_trainer/checkpoint/policy.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/profile/machine.h"
#include "gpu_trainer/profile/step_profile.h"
#include "gpu_trainer/rpc/model_text.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// Not thread-safe, but for Info.
class TrainerState {
 public:
  // `ranks` is borrowed.
  TrainerState(torch::Device device, torch::ScalarType dtype, RankGroup& ranks);

  // The ranks' models must be alike: INVALID_ARGUMENT on all, if they are not. RESOURCE_EXHAUSTED:
  // learning with it would take more memory than there is (memory_need.h); nothing was read.
  absl::Status Load(const v1::LoadCheckpointRequest& request);
  // All of `request` is the update's content: it names no holder.
  absl::Status Update(const v1::UpdateRequest& request, v1::UpdateResponse* response);
  // All ranks call it; rank 0 writes.
  absl::StatusOr<SavedCheckpoint> Save(const std::string& path) const;
  absl::Status Score(const v1::ScoreRequest& request, v1::ScoreResponse* response);
  // Draws this rank's samples; `on_prompt`, if any, gets the prompt of every group first.
  absl::Status Generate(const v1::GenerateRequest& request,
                        const std::function<void(v1::GenerateEvent)>& on_prompt,
                        const GenerateSink& sink);

  v1::TrainerInfo Info() const;

 private:
  // Model is everything that belongs to one loaded model; it is replaced as a whole.
  struct Model {
    std::unique_ptr<Policy> policy;
    ModelText text;
    std::unique_ptr<Engine> engine;
    // SHA-256 of the request of policy's last update; empty: that was before it was saved.
    std::string last_request;
  };

  absl::Status Read(const v1::LoadCheckpointRequest& request, Model* model) const;
  absl::StatusOr<UpdateResult> Learn(const v1::UpdateRequest& request);
  // Adds profile_ to the answer of the update it ends with.
  void AddProfile(v1::UpdateResponse* response);
  absl::StatusOr<std::vector<LearnedSequence>> Tokenize(const v1::SftBatch& batch) const;
  absl::StatusOr<std::vector<int32_t>> PromptIds(const ModelText::Messages& messages,
                                                 const std::string& response_prefix) const;
  absl::StatusOr<Model*> Loaded() const;

  const torch::Device device_;
  const torch::ScalarType dtype_;
  RankGroup& ranks_;
  std::unique_ptr<Model> model_;
  // It is collected from the calls since the last update that asked for a profile.
  struct {
    StepProfile step;
    int64_t sequences = 0;
    bool truncates = false;
  } profile_;
  const std::unique_ptr<DeviceClock> clock_;  // Of profiles; null on a CPU.
  std::optional<MachineSpeed> machine_;       // Measured when first needed.

  mutable std::mutex info_mutex_;
  v1::TrainerInfo info_;  // Guarded by info_mutex_.
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_TRAINER_STATE_H_
