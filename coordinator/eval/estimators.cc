#include "coordinator/eval/estimators.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "common/status_macros.h"

namespace whetstone {

double PassAtK(int samples, int passed, int k) {
  CHECK(1 <= k && k <= samples && 0 <= passed && passed <= samples);
  if (samples - passed < k) return 1;
  double none = 1;  // C(n - c, k) / C(n, k), without large numbers
  for (int i = samples - passed + 1; i <= samples; ++i) none *= 1 - static_cast<double>(k) / i;
  return 1 - none;
}

double ExpectedMaxOfK(std::vector<double> values, int k) {
  const int n = static_cast<int>(values.size());
  CHECK(1 <= k && k <= n);
  std::sort(values.begin(), values.end());
  // The i-th smallest is the largest of C(i - 1, k - 1) of the C(n, k) choices.
  double weight = static_cast<double>(k) / n;
  double mean = 0;
  for (int i = n; i >= k; --i) {
    mean += weight * values[static_cast<size_t>(i - 1)];
    if (i > 1) weight *= static_cast<double>(i - k) / (i - 1);
  }
  return mean;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return Quantile(values, 0.5);
}

double Quantile(const std::vector<double>& sorted, double share) {
  CHECK(!sorted.empty());
  const double at = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(std::floor(at));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace whetstone
