// A KL penalty has a frozen reference model. It is no state of its own: every update that needs it
// names its directory, so a resumed run has the reference it began with.
#ifndef WHETSTONE_GPU_TRAINER_CHECKPOINT_KL_REFERENCE_H_
#define WHETSTONE_GPU_TRAINER_CHECKPOINT_KL_REFERENCE_H_

#include <string>

#include "absl/status/status.h"
#include "gpu_trainer/checkpoint/policy.h"

namespace whetstone {

// Makes `policy.reference` the model in `directory`, in the policy's compute type (a bf16 copy: 2
// bytes a parameter). Nothing is read if it is that already; an empty `directory` lets it go.
// NOT_FOUND: no such directory. INVALID_ARGUMENT: unsupported model, another vocabulary than the
// policy's, or a missing, truncated or changed file, named. The reference of before then stays.
absl::Status SetKlReference(const std::string& directory, Policy& policy);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_CHECKPOINT_KL_REFERENCE_H_
