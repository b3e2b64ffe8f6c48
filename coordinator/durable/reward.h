// A verdict becomes the number GRPO learns from (docs: the campaign's `reward` section).
//
//   NO_CODE, FORBIDDEN             no_code
//   COMPILE_ERROR                  compile_error
//   CRASH, TIMEOUT, MEMORY_LIMIT   runtime_error
//   WRONG_ANSWER                   wrong_base + wrong_slope * pass_fraction (candidate_reward.h
//                                  leaves the second part out where it is not paid)
//   SUSPECT                        wrong_base
//   CORRECT                        correct_base + clip(ln s / max(ln s_expert, ln 2), low, high)
//   INFRASTRUCTURE_ERROR           dropped: no reward, never learned from
//
// s is the paired speedup over the reference; |ln s| inside the noise band counts as 0. The
// logarithm and the clip keep one outlier from swamping its group's standard deviation; the floor
// of ln 2 keeps a weak expert from blowing small gains up. Pure and thread-safe.
//
// Only a measured speed has an error. Its variance is that of ln s within the measurement, plus
// that of equal code between measurements, which one measurement does not know: the square of the
// noise band, 95 % of |ln s|, over 1.96. Where the noise band or the clip decides, the reward is
// exact.
#ifndef WHETSTONE_COORDINATOR_DURABLE_REWARD_H_
#define WHETSTONE_COORDINATOR_DURABLE_REWARD_H_

#include "absl/status/status.h"
#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

struct Reward {
  double value = 0;
  bool dropped = false;  // `value` is 0
  double error = 0;      // standard error of `value`
};

// Returns OK for a verdict that says something of the candidate. INTERNAL tells why it does not:
// the worker failed, or its numbers are none that a measurement can have (a speedup of 0, a NaN).
absl::Status CheckVerdict(const v1::Verdict& verdict);

// `expert_speedup` and `noise_band` come from the calibration of the worker that measured; a
// verdict that carries its own noise band uses that one. CheckVerdict must hold, or the
// outcome be INFRASTRUCTURE_ERROR, and a CORRECT verdict be timed.
Reward RewardOf(const v1::Verdict& verdict, const v1::RewardConfig& config, double expert_speedup,
                double noise_band);

// Returns what a completion's length costs (0 or more, to be subtracted from its reward): nothing
// up to overlong_buffer tokens before max_new_tokens, from there linearly up to overlong_penalty at
// max_new_tokens (DAPO's soft overlong punishment, arXiv 2503.14476, eq. 13).
double OverlongPenalty(const v1::RewardConfig& config, int tokens, int max_new_tokens);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_REWARD_H_
