#include "common/reward_noise.h"

#include <algorithm>
#include <map>
#include <utility>

namespace whetstone {

double NoiseShare(const std::vector<MeasuredReward>& rewards) {
  // Rewards are compared exactly: a variance of rounded differences would be tiny, not zero.
  std::map<std::pair<double, double>, int> measurements;
  double sum = 0;
  for (const MeasuredReward& reward : rewards) {
    ++measurements[{reward.value, reward.error}];
    sum += reward.value;
  }
  if (measurements.empty() ||
      measurements.begin()->first.first == measurements.rbegin()->first.first) {
    return 1;
  }
  const double n = static_cast<double>(rewards.size()), mean = sum / n;
  double spread = 0, noise = 0;
  for (const auto& [measurement, count] : measurements) {
    const auto& [value, error] = measurement;
    spread += count * (value - mean) * (value - mean);
    noise += count * (1 - count / n) * error * error;
  }
  return noise == 0 ? 0 : std::min(1.0, noise / spread);
}

}  // namespace whetstone
