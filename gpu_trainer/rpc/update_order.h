// Updates may be applied to a policy in one order: each has a name, a phase and a step.
#ifndef WHETSTONE_GPU_TRAINER_RPC_UPDATE_ORDER_H_
#define WHETSTONE_GPU_TRAINER_RPC_UPDATE_ORDER_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// Returns such as "warm-up step 3" or "GRPO step 12".
std::string UpdateText(const v1::UpdateName& name);

bool SameUpdate(const v1::UpdateName& a, const v1::UpdateName& b);

// What may come after `last` is its successor, or the first step of another phase.
// INVALID_ARGUMENT: no such phase. FAILED_PRECONDITION: another step is next; it is named.
absl::Status CheckSuccessor(const std::optional<v1::UpdateResponse>& last,
                            const v1::UpdateName& name);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_UPDATE_ORDER_H_
