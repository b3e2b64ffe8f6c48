// Estimators of what a policy does with k samples, from n >= k samples of it. They are unbiased,
// and know nothing of programs.
#ifndef WHETSTONE_COORDINATOR_EVAL_ESTIMATORS_H_
#define WHETSTONE_COORDINATOR_EVAL_ESTIMATORS_H_

#include <vector>

namespace whetstone {

// Returns the probability that at least one of k samples, drawn without replacement from `samples`
// of which `passed` passed, is among those: 1 - C(n - c, k) / C(n, k), the unbiased pass@k of Chen
// et al. 2021 (arXiv 2107.03374, eq. 1). 1 <= k <= samples.
double PassAtK(int samples, int passed, int k);

// Returns the mean, over all choices of k of the values, of the largest. 1 <= k <= values.size().
double ExpectedMaxOfK(std::vector<double> values, int k);

// Returns the middle value, or the mean of the two in the middle. `values` is not empty.
double Median(std::vector<double> values);

// Returns the value below which `share` (0 to 1) of the values lie, linear between neighbours.
// `sorted` is in ascending order and not empty.
double Quantile(const std::vector<double>& sorted, double share);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_EVAL_ESTIMATORS_H_
