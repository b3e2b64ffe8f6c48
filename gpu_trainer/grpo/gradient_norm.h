// The size of a step's gradients, and which of them is not a number.
//
//   std::string culprit;
//   double norm = GradientNorm(gradients.Named(), &culprit);  // not finite: culprit =
//   "layers.3.down"
#ifndef WHETSTONE_GPU_TRAINER_GRPO_GRADIENT_NORM_H_
#define WHETSTONE_GPU_TRAINER_GRPO_GRADIENT_NORM_H_

#include <string>

#include "gpu_trainer/grpo/adamw.h"

namespace whetstone {

// The 2-norm over all gradients (fp32), summed in double and in an order that does not depend on
// the number of threads. Not finite: `culprit` names the first tensor that is not.
double GradientNorm(const NamedTensors& gradients, std::string* culprit);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_GRPO_GRADIENT_NORM_H_
