#include "gpu_trainer/train/parallel/batch_walk.h"

#include <cstdint>
#include <optional>

namespace whetstone {

void BatchWalk::Meet(size_t place) {
  if (place < layers_) {
    if (shards_ == nullptr) return;
    shards_->Need(place, place + 1 < layers_ ? std::make_optional(place + 1) : std::nullopt);
  } else if (place == layers_) {
    if (sums_ != nullptr) sums_->CompleteDownTo(GradientUnits::kHead);
  } else if (place == 3 * layers_ + 1) {
    if (sums_ != nullptr) sums_->CompleteDownTo(GradientUnits::kAll);
  } else {
    const size_t layer = layers_ - 1 - (place - layers_ - 1) / 2;
    if ((place - layers_) % 2 == 0) {
      if (sums_ != nullptr) sums_->CompleteDownTo(static_cast<int64_t>(layer));
    } else if (shards_ != nullptr) {
      shards_->Need(layer, layer > 0 ? std::make_optional(layer - 1) : std::nullopt);
    }
  }
}

}  // namespace whetstone
