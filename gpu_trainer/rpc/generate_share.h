// Which samples of a generation fall to a rank.
#ifndef WHETSTONE_GPU_TRAINER_RPC_GENERATE_SHARE_H_
#define WHETSTONE_GPU_TRAINER_RPC_GENERATE_SHARE_H_

#include <cstdint>
#include <vector>

#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// For each group of the request the samples that `rank` draws: equally many for each rank, but for
// one, and of as few groups as that allows, since every rank encodes the prompts it needs.
std::vector<std::vector<int32_t>> SamplesOf(const v1::GenerateRequest& request, int rank,
                                            int ranks);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_GENERATE_SHARE_H_
