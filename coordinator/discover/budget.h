// A Budget is what a search may spend: time, or measured candidates ("20m", "2000 candidates").
#ifndef WHETSTONE_COORDINATOR_DISCOVER_BUDGET_H_
#define WHETSTONE_COORDINATOR_DISCOVER_BUDGET_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// One of the two is there.
struct Budget {
  std::optional<double> seconds;
  std::optional<int> candidates;
};

// Takes "90s", "20m", "1.5h", "2000 candidates" and "2000candidates". INVALID_ARGUMENT: anything
// else, less than ten seconds or candidates, more than thirty days or a hundred million.
absl::StatusOr<Budget> ParseBudget(absl::string_view text);

// Returns how much of it rules may spend before the policy is taught: a fifth, of time two minutes
// at most, of candidates 400.
Budget ShareOfRules(const Budget& budget);

// What a step takes on a usual machine, and how many of them what comes before the first one is
// worth (a warm-up).
struct StepTime {
  double seconds = 0;
  int steps_before = 0;
};

// Returns how many steps of `rollouts` each a campaign within the budget plans, of which its
// learning rate's schedule hangs.
int PlannedSteps(const Budget& budget, int rollouts, const StepTime& step);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_BUDGET_H_
