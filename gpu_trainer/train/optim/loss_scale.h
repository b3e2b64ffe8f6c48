// Scales the loss dynamically for gradients in fp16 (Micikevicius et al., arXiv 1710.03740, and
// PyTorch's GradScaler, whose numbers these are): fp16 has no number between 0 and 6e-8, and
// gradients of single tokens are often smaller. The loss is multiplied before the way back and the
// gradients divided after it; where something then exceeded fp16's 65504, the step is skipped and
// the scale halved.
//
//   LossScale scale;
//   … gradients of scale.value() * loss …
//   if (finite) scale.StepWasFinite(); else scale.Overflowed();
//
// All values are powers of two, so that multiplying and dividing change no digit. Not thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_LOSS_SCALE_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_LOSS_SCALE_H_

#include <cstdint>

namespace whetstone {

class LossScale {
 public:
  static constexpr double kFirst = 65536;
  // The scale is doubled after so many finite steps in a row.
  static constexpr int64_t kGrowthInterval = 2000;
  // Gradients that overflow without any scale are too large in themselves.
  static constexpr double kLeast = 1;

  // State is all there is; it is part of a checkpoint.
  struct State {
    double value = kFirst;
    int64_t finite_steps = 0;  // since it last changed
    friend bool operator==(const State&, const State&) = default;
  };

  double value() const { return state_.value; }
  void StepWasFinite();
  void Overflowed();

  // Tells whether `state` can be reached.
  static bool IsValid(const State& state);
  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

 private:
  State state_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_LOSS_SCALE_H_
