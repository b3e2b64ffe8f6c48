// Filters out an update that is far out of line with the last ones, before it is applied: one bad
// batch can undo a hundred good ones.
//
//   std::string why = filter.Judge(/*factor=*/5, norm, loss);   // "the gradient norm is 92, …"
//   if (!why.empty()) … skip the update …
//
// What is judged is the gradient norm and, where it is a positive quantity of its own (supervised
// cross entropy; a policy loss has no scale, it is near 0 on policy), the loss: each against
// `factor` times its median over the last kWindow judged, once there are kJudgedMin of them. A
// skipped one is remembered as well, so a lasting change is taken for the new normal after half a
// window. Not thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_OUTLIER_FILTER_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_OUTLIER_FILTER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace whetstone {

class OutlierFilter {
 public:
  static constexpr size_t kWindow = 32;
  static constexpr size_t kJudgedMin = 8;

  // State is all that is remembered, oldest first; it is part of a checkpoint.
  struct State {
    std::vector<double> norms;
    std::vector<double> losses;
    friend bool operator==(const State&, const State&) = default;
  };

  // Returns why this update should be skipped; empty: it is in line. Both numbers must be finite,
  // `factor` (spike_factor of a campaign) above 1.
  std::string Judge(double factor, double norm, std::optional<double> loss);

  const State& state() const { return state_; }
  void set_state(State state) { state_ = std::move(state); }

 private:
  State state_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_OPTIM_OUTLIER_FILTER_H_
