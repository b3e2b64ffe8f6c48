#include "coordinator/discover/budget.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

constexpr double kLeast = 10;
constexpr double kSecondsMax = 30 * 24 * 3600.0;
constexpr double kCandidatesMax = 1e8;
constexpr double kShareOfRules = 0.2;
constexpr double kRuleSecondsMax = 120;
constexpr int kRuleCandidatesMax = 400;
constexpr int kStepsMin = 4;
constexpr int kStepsMax = 100000;

}  // namespace

absl::StatusOr<Budget> ParseBudget(absl::string_view text) {
  const auto refuse = [&](const char* why) {
    return absl::InvalidArgumentError(
        absl::StrCat("--budget '", text, "' ", why, "; write 90s, 20m, 1.5h or '2000 candidates'"));
  };
  const absl::string_view whole = absl::StripAsciiWhitespace(text);
  const size_t unit_at = std::min(whole.find_first_not_of("0123456789."), whole.size());
  double number = 0;
  if (!absl::SimpleAtod(whole.substr(0, unit_at), &number)) return refuse("begins with no number");
  const absl::string_view unit = absl::StripAsciiWhitespace(whole.substr(unit_at));
  if (unit == "candidates") {
    if (number != std::floor(number)) return refuse("is no whole number");
    if (number < kLeast || number > kCandidatesMax) return refuse("is too small or too large");
    return Budget{.seconds = std::nullopt, .candidates = static_cast<int>(number)};
  }
  const double factor = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (factor == 0) return refuse("has no unit that is known");
  const double seconds = number * factor;
  if (seconds < kLeast || seconds > kSecondsMax) return refuse("is too short or too long");
  return Budget{.seconds = seconds, .candidates = std::nullopt};
}

Budget ShareOfRules(const Budget& budget) {
  Budget share;
  if (budget.seconds) share.seconds = std::min(kRuleSecondsMax, kShareOfRules * *budget.seconds);
  if (budget.candidates) {
    share.candidates = std::min(kRuleCandidatesMax, *budget.candidates / 5);
  }
  return share;
}

int PlannedSteps(const Budget& budget, int rollouts, const StepTime& step) {
  const Budget rules = ShareOfRules(budget);
  const double steps =
      budget.seconds ? (*budget.seconds - *rules.seconds) / step.seconds - step.steps_before
                     : (*budget.candidates - *rules.candidates) / static_cast<double>(rollouts);
  return static_cast<int>(std::clamp(std::floor(steps), double{kStepsMin}, double{kStepsMax}));
}

}  // namespace whetstone
