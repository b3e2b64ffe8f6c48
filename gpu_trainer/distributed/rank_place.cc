#include "gpu_trainer/distributed/rank_place.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

// Returns the variable as a number in [least, most].
absl::StatusOr<int> Number(const char* name, int least, int most) {
  const char* text = std::getenv(name);
  if (text == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the environment has no ", name, ", which goes with RANK and WORLD_SIZE; ",
                     "launch with 'whet-trainer launch', torchrun, or set it as they do"));
  }
  int value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < least || value > most) {
    return absl::InvalidArgumentError(absl::StrCat("the environment's ", name, " is '", text,
                                                   "', not a number from ", least, " to ", most));
  }
  return value;
}

}  // namespace

absl::StatusOr<RankPlace> RankPlaceFromEnvironment() {
  RankPlace place;
  if (std::getenv("RANK") == nullptr && std::getenv("WORLD_SIZE") == nullptr) return place;
  ASSIGN_OR_RETURN(place.world_size, Number("WORLD_SIZE", 1, 1 << 16));
  ASSIGN_OR_RETURN(place.rank, Number("RANK", 0, place.world_size - 1));
  if (place.alone()) return place;
  int local_ranks = place.world_size;
  if (std::getenv("LOCAL_WORLD_SIZE") != nullptr) {
    ASSIGN_OR_RETURN(place.local_size, Number("LOCAL_WORLD_SIZE", 1, place.world_size));
    local_ranks = place.local_size;
  }
  ASSIGN_OR_RETURN(place.local_rank, Number("LOCAL_RANK", 0, local_ranks - 1));
  if (place.local_rank > place.rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the environment's LOCAL_RANK is ", place.local_rank, " and its RANK only ", place.rank,
        ": a rank has all that come before it on its host before it in the job, too"));
  }
  const char* address = std::getenv("MASTER_ADDR");
  if (address == nullptr || *address == '\0') {
    return absl::InvalidArgumentError(
        "the environment has no MASTER_ADDR, the address of rank 0's host, which goes with RANK "
        "and WORLD_SIZE");
  }
  place.master_address = address;
  ASSIGN_OR_RETURN(const int port, Number("MASTER_PORT", 1, 65535));
  place.master_port = static_cast<uint16_t>(port);
  return place;
}

absl::StatusOr<int> GpuOf(const RankPlace& place, int gpus) {
  if (place.local_rank < gpus) return place.local_rank;
  return absl::InvalidArgumentError(absl::StrCat(
      "rank ", place.rank, " (LOCAL_RANK ", place.local_rank, ") has no GPU: this process sees ",
      gpus, ", and each rank of a host needs its own. Start at most ", gpus,
      " ranks on this host, let every rank see all its GPUs, or give --device cpu"));
}

int DefaultThreads(const RankPlace& place) {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / place.local_size);
}

}  // namespace whetstone
