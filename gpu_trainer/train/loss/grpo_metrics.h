// These are the numbers one GRPO update reports, under TRL's names.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_LOSS_GRPO_METRICS_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_LOSS_GRPO_METRICS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/train/loss/loss.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// Adds up tokens as they are learned. It is a plain value.
class GrpoMetrics {
 public:
  explicit GrpoMetrics(const LossSettings& settings) : settings_(settings) {}

  // `learnable_groups` are those with spread.
  void AddBatch(const v1::GrpoBatch& batch, int64_t learnable_groups);
  void AddToken(const TokenLoss& loss, const PolicyToken& token, double entropy);

  // Makes the tokens of this rank those of all ranks.
  absl::Status CombineOver(RankGroup& ranks);

  // reward, reward_std (mean over groups of the group's spread), frac_reward_zero_std,
  // completions/{mean,min,max}_length of all kept rollouts; over learned tokens: entropy,
  // clip_ratio/{low,high,region}_mean, ppo_kl (mean of old - policy),
  // sampling/sampling_logp_difference/{mean,max},
  // sampling/importance_sampling_ratio/{mean,min,max} (after its bounds); kl with kl_beta above 0;
  // clip_ratio/dual_mean with dual_clip. Imitated rollouts count in none of these; with
  // imitation_weight: imitation/rollouts, of the batch, and over their learned tokens
  // imitation/logp_difference (mean of policy - sampling: below 0, the policy has lost them).
  void WriteTo(std::map<std::string, double>* metrics) const;

 private:
  LossSettings settings_;
  std::map<std::string, double> batch_;
  int64_t tokens_ = 0;
  double entropy_ = 0, clipped_low_ = 0, clipped_high_ = 0, clipped_dual_ = 0;
  double ppo_kl_ = 0, kl_ = 0;
  double difference_ = 0, difference_max_ = 0;
  double imitated_ = 0, imitated_difference_ = 0;
  double importance_ = 0, importance_min_ = 0, importance_max_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_LOSS_GRPO_METRICS_H_
