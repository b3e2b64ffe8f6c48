#include "gpu_trainer/train/loss/advantage.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/reward_noise.h"

namespace whetstone {
namespace {

constexpr double kEpsilon = 1e-4;  // TRL has the same.
// An error of measurement changes an entropic weight by at most such a share.
constexpr double kEntropicErrorShare = 0.25;

// Moments are the mean and spread of the kept rewards of some groups.
struct Moments {
  int kept = 0;
  double mean = 0;
  double deviation = 0;  // It is 0 for fewer than two.
};

Moments MomentsOf(absl::Span<const std::vector<Graded>> groups) {
  Moments m;
  double sum = 0, squares = 0;
  const auto each = [&groups](const auto& visit) {
    for (const std::vector<Graded>& group : groups) {
      for (const Graded& rollout : group) {
        if (!rollout.dropped) visit(rollout.reward);
      }
    }
  };
  each([&](double reward) { sum += reward, ++m.kept; });
  if (m.kept < 2) return m;
  m.mean = sum / m.kept;
  each([&](double reward) { squares += (reward - m.mean) * (reward - m.mean); });
  m.deviation = std::sqrt(squares / (m.kept - 1));
  return m;
}

double NoiseShareOf(const std::vector<Graded>& group) {
  std::vector<MeasuredReward> rewards;
  for (const Graded& rollout : group) {
    if (!rollout.dropped) rewards.push_back({rollout.reward, rollout.error});
  }
  return NoiseShare(rewards);
}

double DivisorOf(AdvantageScale scale, const Moments& group, const Moments& batch) {
  switch (scale) {
    case AdvantageScale::kGroup:
      return group.deviation + kEpsilon;
    case AdvantageScale::kBatch:
      return batch.deviation + kEpsilon;
    case AdvantageScale::kNone:
      return 1;
    case AdvantageScale::kLeaveOneOut:
      // r_i - mean of the others is (r_i - mean) n / (n - 1).
      return (group.kept - 1.0) / group.kept;
    case AdvantageScale::kEntropic:
      break;  // It divides by nothing of the kind.
  }
  return 1;
}

// EntropicWeights returns n q (advantage.h) of `rewards`, which are not all equal; b is at most
// `slope_max`.
std::vector<double> EntropicWeights(const std::vector<double>& rewards, double slope_max) {
  const double best = *std::max_element(rewards.begin(), rewards.end());
  double next = -std::numeric_limits<double>::infinity();
  for (const double reward : rewards) {
    if (reward < best) next = std::max(next, reward);
  }
  const double n = static_cast<double>(rewards.size());
  std::vector<double> weights(rewards.size());
  // Makes the weights of slope b and returns their KL divergence from uniform, which grows with b.
  const auto divergence = [&](double b) {
    double sum = 0, kl = 0;
    for (size_t i = 0; i < rewards.size(); ++i)
      sum += weights[i] = std::exp(b * (rewards[i] - best));
    for (double& weight : weights) {
      weight *= n / sum;
      if (weight > 0) kl += weight / n * std::log(weight);
    }
    return kl;
  };
  // At the upper end all but the best weigh nothing.
  double low = 0, high = std::min(slope_max, 1000 / (best - next));
  for (int i = 0; i < 120; ++i) {
    const double middle = 0.5 * (low + high);
    (divergence(middle) < std::log(2.0) ? low : high) = middle;
  }
  divergence(high);
  return weights;
}

}  // namespace

std::vector<GroupAdvantage> ComputeAdvantages(absl::Span<const std::vector<Graded>> groups,
                                              AdvantageScale scale) {
  std::vector<GroupAdvantage> result(groups.size());
  std::vector<std::vector<Graded>> learnable;
  std::vector<double> kept_share(groups.size());  // of each reward's distance from the mean
  for (size_t g = 0; g < groups.size(); ++g) {
    result[g].values.assign(groups[g].size(), 0.0);
    kept_share[g] = 1 - NoiseShareOf(groups[g]);
    result[g].learnable = kept_share[g] > 0;
    if (result[g].learnable) learnable.push_back(groups[g]);
  }
  const Moments batch = MomentsOf(learnable);
  for (size_t g = 0; g < groups.size(); ++g) {
    if (!result[g].learnable) continue;
    if (scale == AdvantageScale::kEntropic) {
      std::vector<double> kept;
      double error_max = 0;
      for (const Graded& rollout : groups[g]) {
        if (rollout.dropped) continue;
        kept.push_back(rollout.reward);
        error_max = std::max(error_max, rollout.error);
      }
      const std::vector<double> weights = EntropicWeights(kept, kEntropicErrorShare / error_max);
      for (size_t i = 0, at = 0; i < groups[g].size(); ++i) {
        if (!groups[g][i].dropped) result[g].values[i] = kept_share[g] * (weights[at++] - 1);
      }
      continue;
    }
    const Moments group = MomentsOf({&groups[g], 1});
    const double divisor = DivisorOf(scale, group, batch) / kept_share[g];
    for (size_t i = 0; i < groups[g].size(); ++i) {
      if (groups[g][i].dropped) continue;
      result[g].values[i] = (groups[g][i].reward - group.mean) / divisor;
    }
  }
  return result;
}

}  // namespace whetstone
