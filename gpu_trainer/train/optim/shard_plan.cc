#include "gpu_trainer/train/optim/shard_plan.h"

#include <algorithm>

namespace whetstone {

const char* NameOf(Sharding sharding) {
  switch (sharding) {
    case Sharding::kNone:
      return "none";
    case Sharding::kOptimizer:
      return "optimizer";
    case Sharding::kGradients:
      return "gradients";
    case Sharding::kParameters:
      return "parameters";
  }
  return "?";
}

Slice SliceOf(int64_t numel, size_t tensor_index, int rank, int ranks) {
  const int64_t units = (numel + kSliceUnit - 1) / kSliceUnit;
  if (units < ranks) {
    const bool mine = tensor_index % static_cast<size_t>(ranks) == static_cast<size_t>(rank);
    return {.begin = 0, .end = mine ? numel : 0};
  }
  const auto cut = [&](int64_t r) { return std::min(numel, units * r / ranks * kSliceUnit); };
  return {.begin = cut(rank), .end = cut(rank + 1)};
}

}  // namespace whetstone
