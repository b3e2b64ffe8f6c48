// Says how many sequences of a generation may decode together: as many as there is memory for their
// keys and values.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_SCHEDULE_KV_PLAN_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_SCHEDULE_KV_PLAN_H_

#include <torch/types.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "gpu_trainer/engine/request/generate_spec.h"
#include "gpu_trainer/model/config.h"

namespace whetstone {

struct KvPlan {
  int64_t slots = 0;          // sequences that decode together; 0: nothing was asked for
  int64_t prefix_tokens = 0;  // of the longest prompt
  int64_t suffix_tokens = 0;  // most that a sequence gets behind its prompt
};

// Returns how many bytes keys and values may take: what `memory` says, or half of what is free on
// `device` now.
int64_t KvBytesAllowed(const GenerateMemory& memory, torch::Device device);

// Keys and values are of type `dtype` and take `bytes` at most. RESOURCE_EXHAUSTED: that does not
// hold one sequence.
absl::StatusOr<KvPlan> PlanKv(const GenerateSpec& spec, const ModelConfig& config,
                              torch::ScalarType dtype, int64_t bytes);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_SCHEDULE_KV_PLAN_H_
