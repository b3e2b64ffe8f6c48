// A request is checked before anything is computed.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_REQUEST_CHECK_SPEC_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_REQUEST_CHECK_SPEC_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "gpu_trainer/engine/request/generate_spec.h"
#include "gpu_trainer/model/config.h"

namespace whetstone {

// INVALID_ARGUMENT: none, or one that is not in the vocabulary.
absl::Status CheckIds(const std::vector<int32_t>& ids, const ModelConfig& config);

// INVALID_ARGUMENT: naming the setting, or the group whose prompt is wrong.
absl::Status CheckSpec(const GenerateSpec& spec, const ModelConfig& config);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_REQUEST_CHECK_SPEC_H_
