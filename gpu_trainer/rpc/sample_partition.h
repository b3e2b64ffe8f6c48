// Partitions the samples of a generation over the ranks.
#ifndef WHETSTONE_GPU_TRAINER_RPC_SAMPLE_PARTITION_H_
#define WHETSTONE_GPU_TRAINER_RPC_SAMPLE_PARTITION_H_

#include <cstdint>
#include <vector>

#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// Returns for each group of the request the samples that `rank` draws: equally many for each rank,
// but for one, and of as few groups as that allows, since every rank encodes the prompts it needs.
std::vector<std::vector<int32_t>> SamplesOfRank(const v1::GenerateRequest& request, int rank,
                                                int ranks);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_SAMPLE_PARTITION_H_
