// Tells what a policy that learns takes of a device's memory, before any of it is taken.
//
//   RETURN_IF_ERROR(CheckMemory(config, torch::kBFloat16, options, device, free_bytes));
#ifndef WHETSTONE_GPU_TRAINER_RPC_MEMORY_NEED_H_
#define WHETSTONE_GPU_TRAINER_RPC_MEMORY_NEED_H_

#include <torch/types.h>

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/train/learner/learner.h"

namespace whetstone {

// MemoryNeed is in bytes.
struct MemoryNeed {
  int64_t weights = 0;
  int64_t weights_in_update = 0;  // The same, unless the ranks shard them meanwhile (FSDP).
  int64_t resharding = 0;         // What that takes beside whole weights, at its beginning and end.
  int64_t adapters = 0;           // With LoRA: they, and the values of their matrices before.
  int64_t gradients = 0;
  int64_t optimizer = 0;  // Masters and moments, or this rank's slices of them.
  // These are those of one micro-batch: token_budget, or the least that an automatic budget takes.
  int64_t activations = 0;
  // These are those of one sequence, as long as completions usually are: generation takes what
  // there is.
  int64_t keys_values = 0;

  // Returns the bytes that the learner holds from its first update on.
  int64_t learning() const { return adapters + gradients + optimizer; }
  // Returns the most at one time: nothing generates during an update.
  int64_t total() const {
    return learning() +
           std::max({weights_in_update + activations, weights + keys_values, weights + resharding});
  }
};

// It is a pure function. What comes on top is small beside it: one layer's products, a chunk of
// logits (CheckMemory counts a GPU's, which is larger).
MemoryNeed NeedOf(const ModelConfig& config, torch::ScalarType dtype,
                  const LearnerOptions& options);

// RESOURCE_EXHAUSTED: the total is more than `free_bytes`. Says for what, and which settings, each
// by itself or else all together, would make it fit. It is a pure function.
absl::Status CheckMemory(const ModelConfig& config, torch::ScalarType dtype,
                         const LearnerOptions& options, torch::Device device, int64_t free_bytes);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_MEMORY_NEED_H_
