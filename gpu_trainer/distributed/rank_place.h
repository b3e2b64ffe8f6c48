// A RankPlace is the place of this process among those of one job, as launchers of PyTorch jobs say
// it.
//
//   ASSIGN_OR_RETURN(const RankPlace place, RankPlaceFromEnvironment());
//   if (place.world_size > 1) … RankGroup::Join(place, {}) …
//
// It is read from RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT as torchrun sets them,
// and LOCAL_WORLD_SIZE, if it is there. Without RANK and WORLD_SIZE there is one rank.
#ifndef WHETSTONE_GPU_TRAINER_DISTRIBUTED_RANK_PLACE_H_
#define WHETSTONE_GPU_TRAINER_DISTRIBUTED_RANK_PLACE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace whetstone {

struct RankPlace {
  int rank = 0;        // In [0, world_size).
  int world_size = 1;  // Processes of the job.
  int local_rank = 0;  // Among those on this host: says which GPU is this one's.
  int local_size = 1;  // Processes on this host; 1 where nobody said.
  // Rank 0's address; 127.0.0.1 where everything is on one host, and nothing listens elsewhere.
  std::string master_address = {};
  uint16_t master_port = 0;

  bool alone() const { return world_size == 1; }
};

// INVALID_ARGUMENT: a variable that is missing beside the others, is no number, out of range or at
// odds with another; it is named.
absl::StatusOr<RankPlace> RankPlaceFromEnvironment();

// Returns which of the `gpus` that this process sees is the rank's. INVALID_ARGUMENT: there are
// fewer than ranks on this host.
absl::StatusOr<int> GpuOf(const RankPlace& place, int gpus);

// Returns the CPU threads for a rank that was not told how many: its share of this host's cores, at
// least one.
int DefaultThreads(const RankPlace& place);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_DISTRIBUTED_RANK_PLACE_H_
