// A RolloutView is all that a run knows of one rollout: what the policy was asked, what it wrote
// and what that was measured at.
//
//   ASSIGN_OR_RETURN(const RolloutView view, ViewRollout(plan, *journal, "12/0/3", ""));
//   std::cout << RolloutText(view, {.prompt = true});
#ifndef WHETSTONE_COORDINATOR_REPORT_ROLLOUT_VIEW_H_
#define WHETSTONE_COORDINATOR_REPORT_ROLLOUT_VIEW_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/step_record.h"
#include "coordinator/journal/journal.h"

namespace whetstone {

struct RolloutView {
  int64_t step = 0;  // as campaign_plan.h counts them
  int group_index = 0;
  int sample = 0;
  std::string problem_id;
  std::vector<v1::Message> asked;
  std::string response_prefix;         // what the answer began with
  std::optional<SearchParent> parent;  // that its prompt showed
  v1::Completion completion;
  std::optional<std::string> program;   // nothing: there is no code in it
  std::optional<VerdictEntry> verdict;  // nothing: not measured yet
  // Unified diffs to the program, each empty where there is none.
  std::string from_reference;
  std::string from_parent;
};

// Returns the rollout that `which` names: "12/0/3" (step, group, sample), "eval-10/0/3" of the
// evaluation after ten steps, or "best" and "worst", those with the highest and the lowest reward
// (the oldest of equals; of the problem `problem`, unless that is empty; of those that are learned
// from).
// INVALID_ARGUMENT: it names none. NOT_FOUND: there is no such rollout, or no such problem.
absl::StatusOr<RolloutView> ViewRollout(const CampaignPlan& plan, const Journal& journal,
                                        absl::string_view which, const std::string& problem);

// What is told besides what it came to, what the worker said and what it changes.
struct RolloutParts {
  bool prompt = false;  // what the policy was asked
  bool tokens = false;  // each with its log-probability
};

// Returns "k = 3, n = 64".
std::string SizeText(const v1::SizeResult& size);

std::string RolloutText(const RolloutView& view, const RolloutParts& parts);
// All of it.
nlohmann::ordered_json RolloutJson(const RolloutView& view);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_ROLLOUT_VIEW_H_
