#include "gpu_trainer/engine/speculation/draft_policy.h"

#include <algorithm>
#include <cmath>

namespace whetstone {
namespace {

// With more sequences the arithmetic of a row is no longer hidden behind the reading of weights.
constexpr int64_t kSequencesMax = 4;
constexpr int64_t kDraftMax = 7;
constexpr int64_t kPauseSteps = 48;
constexpr int64_t kProbeTokens = 2;
// A draft must promise this much more than it costs: both numbers are estimates.
constexpr double kMargin = 1.3;

}  // namespace

int64_t DraftPolicy::DraftMax(int64_t sequences) {
  if (sequences > kSequencesMax) return 0;
  if (sequences != sequences_) {
    sequences_ = sequences;
    plain_s_ = 0;
  }
  if (plain_s_ == 0) return 0;
  if (pause_ > 0) {
    // The last step of a pause looks whether the text has begun to repeat itself.
    return --pause_ == 0 ? kProbeTokens : 0;
  }
  // The i-th token of a draft is worth a row if all before it and itself are likely enough.
  int64_t length = 0;
  while (length < kDraftMax && std::pow(acceptance_, length + 1) > kMargin * row_cost_) ++length;
  if (length == 0) pause_ = kPauseSteps;
  return length;
}

void DraftPolicy::Observe(const Step& step) {
  const int64_t drafted = step.rows - step.sequences;
  if (drafted == 0) {
    plain_s_ = plain_s_ == 0 ? step.seconds : 0.8 * plain_s_ + 0.2 * step.seconds;
    return;
  }
  if (plain_s_ > 0) {
    const double cost = (step.seconds / plain_s_ - 1) / static_cast<double>(drafted);
    // A single interrupted step must not end drafting.
    row_cost_ = 0.9 * row_cost_ + 0.1 * std::clamp(cost, 0.0, 1.0);
  }
  if (step.tested > 0) {
    const double keep = std::pow(0.93, step.tested);
    const double share = static_cast<double>(step.accepted) / static_cast<double>(step.tested);
    acceptance_ = keep * acceptance_ + (1 - keep) * share;
  }
}

}  // namespace whetstone
