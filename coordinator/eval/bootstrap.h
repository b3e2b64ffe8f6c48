// Estimates of models over problems, with 95 % intervals, and of the differences between models
// that worked on the same problems.
//
//   const Estimates estimates = EstimateModels(problems, {{Measure::kPass, 0, 1}}, seed, kDraws);
//   estimates.models[0][0].value;          // pass@1 of the first model
//   estimates.pairs[0].metrics[0].low;     // of the second less the first
//
// A model's estimate is the mean over problems of the problems' unbiased estimates. Its interval is
// a bootstrap in two stages: each draw takes as many problems as there are, with replacement, and
// of each as many samples. That of a difference draws the same problems for both models, with all
// their samples: what hard problems do to both falls out, and samples drawn again would count their
// chance twice. Both are between percentiles that are expanded for the number of problems, to the
// tail Φ(-√(m/(m-1)) t) of m problems, t being Student's 97.5 % quantile of m - 1 degrees
// (Hesterberg 2015, "What Teachers Should Know About the Bootstrap", American Statistician 69:371),
// because plain percentiles of 12 problems cover some 90 % where they say 95 %.
// Of fewer than six problems an interval reaches at least as far as Student's does, mean ± t s/√m.
// Of one problem its samples are drawn (of two models those of the same numbers), and the interval
// says nothing about others.
//
// It is pure; equal seeds give equal results.
#ifndef WHETSTONE_COORDINATOR_EVAL_BOOTSTRAP_H_
#define WHETSTONE_COORDINATOR_EVAL_BOOTSTRAP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace whetstone {

// kPass: at least one of k samples is right. kFast: at least one is right and more than p times as
// fast as the reference (fast_p of KernelBench, arXiv 2502.10517, which has k = 1). kFastExpert: …
// as fast as the expert's program. kBest: how many times as fast as the reference the fastest of k
// samples and the reference itself is: a sample that is not right, or slower, counts as 1. Its mean
// is geometric, within a problem and over problems, and its difference is a ratio.
enum class Measure { kPass, kFast, kFastExpert, kBest };

struct Metric {
  Measure measure = Measure::kPass;
  double p = 0;  // of kFast
  int k = 1;
};

// Returns "pass@4", "fast_1.5@4", "fast_expert@4" or "best@4".
std::string MetricName(const Metric& metric);

// One problem, as all models did it.
struct PairedProblem {
  double expert_speedup = 0;  // 0: unknown, so that nothing is faster
  // By model, then by sample: times as fast as the reference; 0 for a sample that is not right.
  // There is at least one sample each; where there are fewer than k, k is their number.
  std::vector<std::vector<double>> speedups;
};

struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

// What `model` has more than `baseline` (of kBest: how many times as much).
struct Comparison {
  size_t model = 0;
  size_t baseline = 0;
  std::vector<Estimate> metrics;
};

struct Estimates {
  std::vector<std::vector<Estimate>> models;  // by model, then by metric
  std::vector<Comparison> pairs;              // each model with every one before it
};

inline constexpr int kDraws = 4000;

// `problems` is not empty, and each has the same number of models.
Estimates EstimateModels(const std::vector<PairedProblem>& problems,
                         const std::vector<Metric>& metrics, uint64_t seed, int draws);

// Returns the share of draws beyond each end of a 95 % interval over so many problems.
double TailOfInterval(size_t problems);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_EVAL_BOOTSTRAP_H_
