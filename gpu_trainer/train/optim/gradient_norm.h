// Tells the size of a step's gradients, and which of them is not a number.
//
//   ASSIGN_OR_RETURN(GradientSize size, MeasureGradients(gradients.Named(), /*by_layer=*/true));
//   if (!size.culprit.empty()) … "the gradient of layers.3.down is not finite" …
//   size.total; size.layers["layers.3"]
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_GRADIENT_NORM_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_GRADIENT_NORM_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/train/optim/adamw.h"

namespace whetstone {

struct GradientSize {
  double total = 0;  // The 2-norm over all gradients.
  // It names the first tensor that holds a number which is not finite; empty: none. `total` is then
  // not finite either.
  std::string culprit;
  // It has the 2-norm of each layer ("layers.3") and of what is in no layer ("embed", "final_norm",
  // "lm_head"), if asked for.
  std::map<std::string, double> layers;
};

// Measures `gradients`, fp32, each times `scale` > 0. Sums are in double and in an order that does
// not depend on the number of threads. `shard_ranks`, unless null, are ranks of which each has its
// slices of the gradients alone; all get the size of the whole.
absl::StatusOr<GradientSize> MeasureGradients(const NamedTensors& gradients, bool by_layer,
                                              double scale = 1, RankGroup* shard_ranks = nullptr);

// Names the first tensor that holds a number which is not finite; empty: none. It is slow: it tells
// why, once something is wrong.
std::string FirstNotFinite(const NamedTensors& tensors);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_GRADIENT_NORM_H_
