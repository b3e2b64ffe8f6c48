#include "gpu_trainer/train/parallel/micro_batch_collectives.h"

#include <cstdint>
#include <optional>

namespace whetstone {

void MicroBatchCollectives::Meet(size_t place) {
  if (place < layers_) {
    if (shards_ == nullptr) return;
    shards_->GatherLayer(place, place + 1 < layers_ ? std::make_optional(place + 1) : std::nullopt);
  } else if (place == layers_) {
    if (reducer_ != nullptr) reducer_->CompleteDownTo(GradientBuckets::kHead);
  } else if (place == 3 * layers_ + 1) {
    if (reducer_ != nullptr) reducer_->CompleteDownTo(GradientBuckets::kAll);
  } else {
    const size_t layer = layers_ - 1 - (place - layers_ - 1) / 2;
    if ((place - layers_) % 2 == 0) {
      if (reducer_ != nullptr) reducer_->CompleteDownTo(static_cast<int64_t>(layer));
    } else if (shards_ != nullptr) {
      shards_->GatherLayer(layer, layer > 0 ? std::make_optional(layer - 1) : std::nullopt);
    }
  }
}

}  // namespace whetstone
