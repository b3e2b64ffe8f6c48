#include "coordinator/report/trend_health.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coordinator/report/health_limits.h"

namespace whetstone {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
// A best program that is faster by less is as good as the one before: logarithm.
constexpr double kLogBestRise = 0.01;

size_t WholeTurns(int64_t steps, int64_t turn) {
  return static_cast<size_t>((steps + turn - 1) / turn * turn);
}

double ValueIn(const std::map<std::string, double>& row, const std::string& key) {
  const auto found = row.find(key);
  return found == row.end() ? kUnknown : found->second;
}

// What teaches says how it taught: where nothing was learned these are 0, whatever the policy.
double TaughtIn(const std::map<std::string, double>& row, const std::string& key) {
  return ValueIn(row, "sampling/importance_sampling_ratio/mean") == 0 ? kUnknown
                                                                      : ValueIn(row, key);
}

}  // namespace

TrendWatch::TrendWatch(const CampaignPlan* plan) : plan_(plan) {
  const auto problems = static_cast<int64_t>(plan->learned().size());
  const int64_t prompts = std::max(1, plan->campaign.train().prompts_per_step());
  const int64_t turn = std::max<int64_t>(1, problems / std::gcd(problems, prompts));
  short_ = WholeTurns(kHealthSteps, turn);
  long_ = WholeTurns(kFlatSteps, turn);
}

void TrendWatch::Add(const std::map<std::string, double>& row) {
  Step step;
  step.reward = ValueIn(row, "reward");
  for (const auto& [key, value] : row) {
    if (absl::StartsWith(key, "speedup/best/") && value > 0) step.log_best += std::log(value);
  }
  step.entropy = TaughtIn(row, "entropy");
  step.kl = TaughtIn(row, "kl");
  step.logp_difference = TaughtIn(row, "sampling/sampling_logp_difference/mean");
  steps_.push_back(step);
  if (steps_.size() > 2 * long_) steps_.pop_front();
  const Window now = Newest(&Step::reward);
  if (!std::isnan(now.mean) && (!best_ || now.mean > best_->mean)) best_ = now;
}

TrendWatch::Window TrendWatch::Over(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  Window window;
  for (const double value : values) window.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - window.mean) * (value - window.mean);
  window.error = std::sqrt(squares / (n - 1) / n);
  return window;
}

TrendWatch::Window TrendWatch::Newest(double Step::*value) const {
  if (steps_.size() < short_) return {kUnknown, kUnknown};
  std::vector<double> values;
  for (size_t i = steps_.size() - short_; i < steps_.size(); ++i) {
    values.push_back(steps_[i].*value);
  }
  return Over(values);
}

std::vector<HealthFinding> TrendWatch::Findings() const {
  std::vector<HealthFinding> findings;
  if (plan_->campaign.train().frozen()) return findings;
  AddReward(&findings);
  AddPolicy(&findings);
  return findings;
}

void TrendWatch::AddReward(std::vector<HealthFinding>* findings) const {
  const Window now = Newest(&Step::reward);
  if (best_ && best_->mean - now.mean >=
                   std::max(kRewardFall, kFallErrors * std::hypot(best_->error, now.error))) {
    findings->push_back(
        {"reward_fell",
         absl::StrFormat("the mean reward of the last %d steps is %.3f, and once was %.3f", short_,
                         now.mean, best_->mean),
         "the policy unlearns: whet fork RUN STEP goes on from a checkpoint before that, with a "
         "lower train.lr, train.kl_beta above 0 or a smaller train.max_staleness"});
  }
  if (steps_.size() < 2 * long_) return;
  // Each step beside the one before it that had the same problems.
  std::vector<double> before, rises;
  for (size_t i = 0; i < long_; ++i) {
    before.push_back(steps_[i].reward);
    rises.push_back(steps_[long_ + i].reward - steps_[i].reward);
  }
  const Window rise = Over(rises);
  const bool better = steps_.back().log_best > steps_.front().log_best + kLogBestRise;
  if (better || !(rise.mean <= kFlatErrors * rise.error)) return;
  const double mean_before = Over(before).mean;
  findings->push_back(
      {"reward_flat",
       absl::StrFormat("the reward has not risen in %d steps (mean %.3f, and %.3f in the %d "
                       "before), and no program became the best",
                       long_, mean_before + rise.mean, mean_before, long_),
       "stop here if the best program will do, or try a higher train.lr, a larger "
       "train.group_size, train.hints or other problems"});
}

void TrendWatch::AddPolicy(std::vector<HealthFinding>* findings) const {
  const v1::TrainConfig& train = plan_->campaign.train();
  if (const double entropy = Newest(&Step::entropy).mean; entropy < kEntropyMin) {
    findings->push_back(
        {"entropy_gone",
         absl::StrFormat("the policy hardly chooses any more: its mean entropy in the last %d "
                         "steps is %.4f nats a token",
                         short_, entropy),
         absl::StrFormat("a higher generate.temperature (now %g)%s%s, or a lower train.lr",
                         plan_->campaign.generate().temperature(),
                         train.entropy_bonus() == 0 ? ", train.entropy_bonus above 0" : "",
                         train.kl_beta() == 0 ? ", train.kl_beta above 0" : "")});
  }
  std::vector<std::string> far;
  if (const double kl = Newest(&Step::kl).mean; kl > kKlMax) {
    far.push_back(absl::StrFormat("its KL divergence from the reference is %.2f nats a token", kl));
  }
  if (const double d = Newest(&Step::logp_difference).mean; d > kLogpDifferenceMax) {
    far.push_back(
        absl::StrFormat("log-probabilities differ by %.2f from those that were sampled with", d));
  }
  if (far.empty()) return;
  findings->push_back(
      {"policy_moved",
       absl::StrCat("the policy has moved far, by the last ", short_,
                    " steps: ", absl::StrJoin(far, ", ")),
       absl::StrCat(
           "a lower train.lr", train.max_staleness() > 0 ? ", a smaller train.max_staleness" : "",
           train.minibatches() > 1 ? ", fewer train.minibatches" : "",
           train.kl_beta() == 0 ? ", or train.kl_beta above 0" : ", or a larger train.kl_beta",
           "; docs/losses.md explains the figures")});
}

}  // namespace whetstone
