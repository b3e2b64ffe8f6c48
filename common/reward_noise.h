// Tells how much of what sets a group's rewards apart is error of measurement. The learner shrinks
// advantages by it, and the coordinator calls a group without anything else uninformative: both ask
// here, so that they agree.
//
//   NoiseShare({{0.3, 0}, {0.5, 0}})          // 0: nothing is known of errors
//   NoiseShare({{0.41, 0.1}, {0.5, 0.1}})     // 1: they may as well be equal
#ifndef WHETSTONE_COMMON_REWARD_NOISE_H_
#define WHETSTONE_COMMON_REWARD_NOISE_H_

#include <vector>

namespace whetstone {

// `error` is the standard error of `value`, 0 where it is exact (an outcome) or unknown.
struct MeasuredReward {
  double value = 0;
  double error = 0;
};

// Returns the share of the rewards' variance that their errors explain, at most 1; 1 as well for
// fewer than two rewards, or where all are equal. Rewards and errors that are the same to the last
// bit are one measurement (of one program), whose error does not set its holders apart: with p_k
// the share of the n rewards that measurement k has, its error e_k explains
//
//   sum over k of p_k (1 - p_k) e_k^2 * n / (n - 1)
//
// of the variance with the divisor n - 1: the mean of e^2 where each has its own. (Where length
// costs, reward.overlong_buffer, rewards of one measurement differ and count as several: noise is
// overestimated.)
double NoiseShare(const std::vector<MeasuredReward>& rewards);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_REWARD_NOISE_H_
