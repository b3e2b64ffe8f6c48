#include "coordinator/eval/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/philox.h"
#include "common/status_macros.h"
#include "coordinator/eval/estimators.h"

namespace whetstone {
namespace {

constexpr double kConfidence = 0.95;
// Draws of fewer problems are too few different ones to reach as far as they should.
constexpr size_t kProblemsToDraw = 6;

// Returns the probability that |t| stays below `t` (Abramowitz & Stegun, 26.7.3 and 26.7.4).
double StudentWithin(double t, int degrees) {
  const double angle = std::atan(t / std::sqrt(degrees));
  const double cosine = std::cos(angle);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1;
  double sum = degrees == 1 ? 0 : term;
  for (int i = odd ? 3 : 2; i <= degrees - 2; i += 2) {
    term *= cosine * cosine * (i - 1) / i;
    sum += term;
  }
  const double pi = std::acos(-1.0);
  return odd ? 2 / pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
}

double StudentQuantile(int degrees) {
  double low = 0, high = 1000;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (StudentWithin(middle, degrees) < kConfidence ? low : high) = middle;
  }
  return low;
}

// Returns a problem's estimate; of kBest its logarithm.
double EstimateOf(const Metric& metric, double expert_speedup,
                  const std::vector<double>& speedups) {
  const int n = static_cast<int>(speedups.size());
  const int k = std::min(metric.k, n);
  const auto share = [&](const auto& passes) {
    return PassAtK(n, static_cast<int>(std::count_if(speedups.begin(), speedups.end(), passes)), k);
  };
  switch (metric.measure) {
    case Measure::kPass:
      return share([](double speedup) { return speedup > 0; });
    case Measure::kFast:
      return share([&](double speedup) { return speedup > metric.p; });
    case Measure::kFastExpert:
      return share([&](double speedup) { return expert_speedup > 0 && speedup > expert_speedup; });
    case Measure::kBest:
      break;
  }
  std::vector<double> gains;
  gains.reserve(speedups.size());
  for (const double speedup : speedups) gains.push_back(std::log(std::max(speedup, 1.0)));
  return ExpectedMaxOfK(std::move(gains), k);
}

// By model, then by metric.
using Means = std::vector<std::vector<double>>;

// Adds one problem's estimates, divided by the number of problems.
void AddTo(const std::vector<Metric>& metrics, double expert_speedup, size_t problems,
           const std::vector<std::vector<double>>& speedups, Means* means) {
  for (size_t m = 0; m < speedups.size(); ++m) {
    for (size_t i = 0; i < metrics.size(); ++i) {
      (*means)[m][i] +=
          EstimateOf(metrics[i], expert_speedup, speedups[m]) / static_cast<double>(problems);
    }
  }
}

// One draw: of problems and their samples, and of the same problems with all their samples.
struct Drawn {
  Means samples;
  Means problems;
};

// `shares` has what each problem adds to the means of all samples.
Drawn Draw(const std::vector<PairedProblem>& problems, const std::vector<Metric>& metrics,
           const std::vector<Means>& shares, const Means& zero, Philox* random) {
  Drawn means{zero, zero};
  std::vector<std::vector<double>> drawn(zero.size());
  std::vector<double> places;
  for (size_t j = 0; j < problems.size(); ++j) {
    const size_t chosen = random->Below(problems.size());
    const PairedProblem& problem = problems[chosen];
    for (size_t m = 0; m < zero.size(); ++m) {
      for (size_t i = 0; i < metrics.size(); ++i) means.problems[m][i] += shares[chosen][m][i];
    }
    size_t most = 0;
    for (const auto& speedups : problem.speedups) most = std::max(most, speedups.size());
    places.clear();
    for (size_t i = 0; i < most; ++i) places.push_back(random->Uniform());
    for (size_t m = 0; m < drawn.size(); ++m) {
      const std::vector<double>& speedups = problem.speedups[m];
      drawn[m].clear();
      for (size_t i = 0; i < speedups.size(); ++i) {
        const double at = places[i] * static_cast<double>(speedups.size());
        drawn[m].push_back(speedups[static_cast<size_t>(at)]);
      }
    }
    AddTo(metrics, problem.expert_speedup, problems.size(), drawn, &means.samples);
  }
  return means;
}

// Returns half the width of Student's interval of the mean of two values or more.
double StudentReach(const std::vector<double>& values) {
  const double count = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / count;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return StudentQuantile(static_cast<int>(values.size()) - 1) *
         std::sqrt(squares / (count - 1) / count);
}

// `problems` has the problems' own estimates.
Estimate WithInterval(const Metric& metric, const std::vector<double>& problems,
                      std::vector<double> draws, double tail, bool pair) {
  double value = 0;
  for (const double v : problems) value += v / static_cast<double>(problems.size());
  std::sort(draws.begin(), draws.end());
  Estimate estimate{value, Quantile(draws, tail), Quantile(draws, 1 - tail)};
  if (problems.size() > 1 && problems.size() < kProblemsToDraw) {
    const bool best = metric.measure == Measure::kBest;
    const double infinite = std::numeric_limits<double>::infinity();
    const double lowest = !pair ? 0 : best ? -infinite : -1;
    const double highest = best ? infinite : 1;
    const double reach = StudentReach(problems);
    estimate.low = std::max(lowest, std::min(estimate.low, value - reach));
    estimate.high = std::min(highest, std::max(estimate.high, value + reach));
  }
  // Where k is near the number of samples, what is drawn with replacement seldom holds a rare hit,
  // so that all draws may lie below the estimate.
  estimate.low = std::min(estimate.low, value);
  estimate.high = std::max(estimate.high, value);
  if (metric.measure == Measure::kBest) {
    estimate = {std::exp(estimate.value), std::exp(estimate.low), std::exp(estimate.high)};
  }
  return estimate;
}

}  // namespace

std::string MetricName(const Metric& metric) {
  switch (metric.measure) {
    case Measure::kPass:
      return absl::StrCat("pass@", metric.k);
    case Measure::kFast:
      return absl::StrCat("fast_", metric.p, "@", metric.k);
    case Measure::kFastExpert:
      return absl::StrCat("fast_expert@", metric.k);
    case Measure::kBest:
      break;
  }
  return absl::StrCat("best@", metric.k);
}

double TailOfInterval(size_t problems) {
  if (problems < 2) return (1 - kConfidence) / 2;
  const double m = static_cast<double>(problems);
  const double reach = std::sqrt(m / (m - 1)) * StudentQuantile(static_cast<int>(problems) - 1);
  return std::erfc(reach / std::sqrt(2.0)) / 2;
}

Estimates EstimateModels(const std::vector<PairedProblem>& problems,
                         const std::vector<Metric>& metrics, uint64_t seed, int draws) {
  CHECK(!problems.empty() && draws > 0);
  const size_t models = problems.front().speedups.size();
  for (const PairedProblem& problem : problems) {
    CHECK(problem.speedups.size() == models);
    for (const auto& speedups : problem.speedups) CHECK(!speedups.empty());
  }
  const Means zero(models, std::vector<double>(metrics.size()));
  std::vector<Means> shares;
  for (const PairedProblem& problem : problems) {
    AddTo(metrics, problem.expert_speedup, problems.size(), problem.speedups,
          &shares.emplace_back(zero));
  }
  std::vector<Drawn> drawn;
  drawn.reserve(static_cast<size_t>(draws));
  for (int draw = 0; draw < draws; ++draw) {
    Philox random(seed, {static_cast<uint64_t>(draw), 0, 0, 0});
    drawn.push_back(Draw(problems, metrics, shares, zero, &random));
  }
  const double tail = TailOfInterval(problems.size());
  // `of` gives what is estimated from the means of a draw, or of one problem's samples.
  const auto estimate = [&](size_t metric, Means Drawn::*which, bool pair, const auto& of) {
    std::vector<double> all, each;
    all.reserve(drawn.size());
    for (const Drawn& draw : drawn) all.push_back(of(draw.*which));
    for (const Means& share : shares) {
      each.push_back(of(share) * static_cast<double>(problems.size()));
    }
    return WithInterval(metrics[metric], each, std::move(all), tail, pair);
  };
  const auto of_pairs = problems.size() > 1 ? &Drawn::problems : &Drawn::samples;
  Estimates estimates;
  estimates.models.resize(models);
  for (size_t m = 0; m < models; ++m) {
    for (size_t i = 0; i < metrics.size(); ++i) {
      estimates.models[m].push_back(estimate(i, &Drawn::samples, /*pair=*/false,
                                             [&](const Means& means) { return means[m][i]; }));
    }
    for (size_t b = 0; b < m; ++b) {
      Comparison pair{.model = m, .baseline = b, .metrics = {}};
      for (size_t i = 0; i < metrics.size(); ++i) {
        pair.metrics.push_back(estimate(i, of_pairs, /*pair=*/true, [&](const Means& means) {
          return means[m][i] - means[b][i];
        }));
      }
      estimates.pairs.push_back(std::move(pair));
    }
  }
  return estimates;
}

}  // namespace whetstone
