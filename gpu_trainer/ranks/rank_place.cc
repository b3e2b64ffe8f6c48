#include "gpu_trainer/ranks/rank_place.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

// A number in [least, most].
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
  ASSIGN_OR_RETURN(place.local_rank, Number("LOCAL_RANK", 0, place.world_size - 1));
  if (std::getenv("LOCAL_WORLD_SIZE") != nullptr) {
    ASSIGN_OR_RETURN(place.local_size, Number("LOCAL_WORLD_SIZE", 1, place.world_size));
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

int DefaultThreads(const RankPlace& place) {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / place.local_size);
}

}  // namespace whetstone
