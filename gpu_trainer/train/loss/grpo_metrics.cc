#include "gpu_trainer/train/loss/grpo_metrics.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/status_macros.h"

namespace whetstone {

void GrpoMetrics::AddBatch(const v1::GrpoBatch& batch, int64_t learnable_groups) {
  double reward_sum = 0, spread_sum = 0, length_sum = 0, length_min = 0, length_max = 0;
  int64_t kept = 0, imitated = 0;
  for (const v1::RolloutGroup& group : batch.groups()) {
    std::vector<double> rewards;
    for (const v1::Rollout& rollout : group.rollouts()) {
      imitated += rollout.imitated() ? 1 : 0;
      if (rollout.dropped() || rollout.imitated()) continue;
      rewards.push_back(rollout.reward());
      const double length = rollout.ids_size();
      length_min = kept == 0 ? length : std::min(length_min, length);
      length_max = std::max(length_max, length);
      length_sum += length;
      ++kept;
    }
    double mean = 0, squares = 0;
    for (const double r : rewards) mean += r / static_cast<double>(rewards.size());
    for (const double r : rewards) squares += (r - mean) * (r - mean);
    for (const double r : rewards) reward_sum += r;
    if (rewards.size() > 1) {
      spread_sum += std::sqrt(squares / (static_cast<double>(rewards.size()) - 1));
    }
  }
  const double groups = std::max(1, batch.groups_size());
  const double rollouts = static_cast<double>(std::max<int64_t>(1, kept));
  batch_["reward"] = reward_sum / rollouts;
  batch_["reward_std"] = spread_sum / groups;
  batch_["frac_reward_zero_std"] = 1.0 - static_cast<double>(learnable_groups) / groups;
  batch_["completions/mean_length"] = length_sum / rollouts;
  batch_["completions/min_length"] = length_min;
  batch_["completions/max_length"] = length_max;
  if (settings_.imitation_weight > 0) {
    batch_["imitation/rollouts"] = static_cast<double>(imitated);
  }
}

void GrpoMetrics::AddToken(const TokenLoss& loss, const PolicyToken& token, double entropy) {
  if (token.imitated) {
    imitated_ += 1;
    imitated_difference_ += token.policy - token.sampling;
    return;
  }
  entropy_ += entropy;
  clipped_low_ += loss.clipped_low;
  clipped_high_ += loss.clipped_high;
  clipped_dual_ += loss.clipped_dual;
  ppo_kl_ += token.old - token.policy;
  kl_ += loss.kl;
  const double difference = std::abs(token.old - token.sampling);
  difference_ += difference;
  difference_max_ = std::max(difference_max_, difference);
  importance_ += loss.importance;
  importance_min_ = tokens_ == 0 ? loss.importance : std::min(importance_min_, loss.importance);
  importance_max_ = std::max(importance_max_, loss.importance);
  ++tokens_;
}

absl::Status GrpoMetrics::CombineOver(RankGroup& ranks) {
  if (ranks.alone()) return absl::OkStatus();
  const std::vector<double*> sums = {
      &entropy_, &clipped_low_, &clipped_high_, &clipped_dual_, &ppo_kl_,
      &kl_,      &difference_,  &importance_,   &imitated_,     &imitated_difference_};
  std::vector<double> mine = {static_cast<double>(tokens_), difference_max_, importance_min_,
                              importance_max_};
  for (double* const sum : sums) mine.push_back(std::exchange(*sum, 0));
  ASSIGN_OR_RETURN(const std::vector<std::vector<double>> all,
                   ranks.AllGatherNumbers("metrics", mine));
  tokens_ = 0;
  for (const std::vector<double>& one : all) {
    for (size_t i = 0; i < sums.size(); ++i) *sums[i] += one[4 + i];
    if (one[0] == 0) continue;  // It has no extremes.
    difference_max_ = std::max(difference_max_, one[1]);
    importance_min_ = tokens_ == 0 ? one[2] : std::min(importance_min_, one[2]);
    importance_max_ = std::max(importance_max_, one[3]);
    tokens_ += static_cast<int64_t>(one[0]);
  }
  return absl::OkStatus();
}

void GrpoMetrics::WriteTo(std::map<std::string, double>* metrics) const {
  for (const auto& [name, value] : batch_) (*metrics)[name] = value;
  const double n = static_cast<double>(std::max<int64_t>(1, tokens_));
  (*metrics)["entropy"] = entropy_ / n;
  (*metrics)["clip_ratio/low_mean"] = clipped_low_ / n;
  (*metrics)["clip_ratio/high_mean"] = clipped_high_ / n;
  (*metrics)["clip_ratio/region_mean"] = (clipped_low_ + clipped_high_ + clipped_dual_) / n;
  if (settings_.dual_clip > 0) (*metrics)["clip_ratio/dual_mean"] = clipped_dual_ / n;
  (*metrics)["ppo_kl"] = ppo_kl_ / n;
  if (settings_.kl_beta > 0) (*metrics)["kl"] = kl_ / n;
  if (settings_.imitation_weight > 0) {
    (*metrics)["imitation/logp_difference"] = imitated_difference_ / std::max(1.0, imitated_);
  }
  (*metrics)["sampling/sampling_logp_difference/mean"] = difference_ / n;
  (*metrics)["sampling/sampling_logp_difference/max"] = difference_max_;
  (*metrics)["sampling/importance_sampling_ratio/mean"] = importance_ / n;
  (*metrics)["sampling/importance_sampling_ratio/min"] = importance_min_;
  (*metrics)["sampling/importance_sampling_ratio/max"] = importance_max_;
}

}  // namespace whetstone
