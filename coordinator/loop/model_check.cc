#include "coordinator/loop/model_check.h"

#include <chrono>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/config/model_rules.h"
#include "coordinator/services/local_inspection.h"

namespace whetstone {
namespace {

constexpr std::chrono::seconds kInspectModelDeadline{60};

v1::InspectModelRequest RequestOf(const CampaignPlan& plan) {
  v1::InspectModelRequest request = InspectRequestOf(plan.campaign);
  for (const PlannedProblem& planned : plan.problems) {
    std::vector<std::vector<v1::Message>> prompts = planned.hinted;
    if (prompts.empty()) prompts = {planned.messages};
    AddPrompts(planned.problem, prompts, planned.response_prefix, &request);
  }
  return request;
}

// Returns the first broken rule as an error. `where` may be empty.
absl::Status Refusal(const std::vector<BrokenRule>& broken,
                     const std::function<std::string(const std::string& key)>& where) {
  if (broken.empty()) return absl::OkStatus();
  const BrokenRule& first = broken.front();
  return absl::InvalidArgumentError(
      absl::StrCat(where ? where(first.key) + ": " : "", "'", first.key, "': ", first.what));
}

}  // namespace

absl::StatusOr<CheckedModel> CheckLocalModel(
    const CampaignPlan& plan, const std::function<std::string(const std::string& key)>& where,
    const StopSignals* signals) {
  const v1::InspectModelRequest request = RequestOf(plan);
  ASSIGN_OR_RETURN(
      const v1::InspectModelResponse response,
      InspectModelLocally(request, /*bin_dir=*/"", [signals] { return signals->stopped(); }));
  RETURN_IF_ERROR(Refusal(CheckModelRules(plan.campaign, request, response), where));
  const LongestPrompt longest = FindLongestPrompt(request, response);
  return CheckedModel{response.model(), longest.name, longest.tokens};
}

absl::Status CheckRemoteModel(const CampaignPlan& plan, TrainerClient* trainer,
                              StopSignals* signals) {
  const v1::InspectModelRequest request = RequestOf(plan);
  CallControl control;
  signals->OnStop([&control] { control.Cancel(); });
  const auto response = trainer->InspectModel(request, {kInspectModelDeadline, &control});
  signals->OnStop(nullptr);
  RETURN_IF_ERROR(response.status());
  return Refusal(CheckModelRules(plan.campaign, request, *response), nullptr);
}

}  // namespace whetstone
