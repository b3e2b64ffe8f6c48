#include "coordinator/durable/reward.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

// The middle 95 % of a normal distribution end so many deviations from its mean.
constexpr double kEndOf95 = 1.96;

}  // namespace

absl::Status CheckVerdict(const v1::Verdict& verdict) {
  if (verdict.outcome() == v1::INFRASTRUCTURE_ERROR ||
      verdict.outcome() == v1::OUTCOME_UNSPECIFIED) {
    return absl::InternalError(verdict.detail());
  }
  for (const double number :
       {verdict.pass_fraction(), verdict.speedup(), verdict.speedup_low(), verdict.speedup_high(),
        verdict.speedup_error(), verdict.noise_band()}) {
    if (std::isnan(number)) return absl::InternalError("a number of the verdict is none (NaN)");
  }
  const bool positive = verdict.speedup() > 0 && std::isfinite(verdict.speedup());
  if (verdict.outcome() == v1::CORRECT && verdict.timed() &&
      (!positive || !std::isfinite(verdict.speedup_error()))) {
    return absl::InternalError(absl::StrCat("the verdict has a speedup of ", verdict.speedup(),
                                            ", give or take ", verdict.speedup_error()));
  }
  return absl::OkStatus();
}

Reward RewardOf(const v1::Verdict& verdict, const v1::RewardConfig& config, double expert_speedup,
                double noise_band) {
  switch (verdict.outcome()) {
    case v1::NO_CODE:
    case v1::FORBIDDEN:
      return {config.no_code(), false};
    case v1::COMPILE_ERROR:
      return {config.compile_error(), false};
    case v1::CRASH:
    case v1::TIMEOUT:
    case v1::MEMORY_LIMIT:
      return {config.runtime_error(), false};
    case v1::WRONG_ANSWER:
      return {config.wrong_base() +
                  config.wrong_slope() * std::clamp(verdict.pass_fraction(), 0.0, 1.0),
              false};
    case v1::SUSPECT:
      // It did not do the work. Dropped, the next policy would try again.
      return {config.wrong_base(), false};
    case v1::CORRECT: {
      CHECK(verdict.timed() && verdict.speedup() > 0);
      double gain = std::log(verdict.speedup());
      const double band = verdict.noise_band() > 0 ? verdict.noise_band() : noise_band;
      const bool in_band = std::abs(gain) <= band;
      if (in_band) gain = 0;
      // An expert of 1 or less (or none measured) must not divide by zero or turn the sign.
      const double scale = std::max(std::log(std::max(1.0, expert_speedup)), std::log(2.0));
      const double paid = std::clamp(gain / scale, config.clip_low(), config.clip_high());
      const double log_error = std::hypot(verdict.speedup_error(), band / kEndOf95);
      const bool exact = in_band || paid != gain / scale;
      return {config.correct_base() + paid, false, exact ? 0 : log_error / scale};
    }
    default:
      return {0, true};
  }
}

double OverlongPenalty(const v1::RewardConfig& config, int tokens, int max_new_tokens) {
  if (config.overlong_buffer() == 0) return 0;
  const double over = tokens - (max_new_tokens - config.overlong_buffer());
  return config.overlong_penalty() * std::clamp(over / config.overlong_buffer(), 0.0, 1.0);
}

}  // namespace whetstone
