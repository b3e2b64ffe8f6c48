// Tells the facts that must be the same on all ranks that train one policy.
#ifndef WHETSTONE_GPU_TRAINER_RPC_MODEL_FACTS_H_
#define WHETSTONE_GPU_TRAINER_RPC_MODEL_FACTS_H_

#include <string>
#include <utility>
#include <vector>

#include "gpu_trainer/checkpoint/policy.h"

namespace whetstone {

// Returns names and values for RankGroup::CheckEqual: hashes of configuration, tokenizer and
// weights; how the policy learns; its last update. Reads all weights.
std::vector<std::pair<std::string, std::string>> FactsOf(const Policy& policy);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_MODEL_FACTS_H_
