#include "gpu_trainer/train/loss/kl.h"

#include <cmath>

namespace whetstone {

KlPenalty TokenKl(KlEstimator estimator, double policy, double reference) {
  const double d = policy - reference;
  switch (estimator) {
    case KlEstimator::kK1:
      return {d, d};
    case KlEstimator::kK2:
      return {d * d / 2, d};
    case KlEstimator::kK3:
      // expm1 serves because near the reference, where it matters first, e^-d - 1 would lose all
      // its digits.
      return {std::expm1(-d) + d, -std::expm1(-d)};
  }
  return {};
}

}  // namespace whetstone
