#include "coordinator/loop/model_check.h"

#include <chrono>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/retry_policy.h"
#include "common/status_macros.h"
#include "coordinator/config/model_rules.h"
#include "coordinator/services/local_inspection.h"

namespace whetstone {
namespace {

// All attempts together take at most this long: a tunnel may be connecting again.
constexpr std::chrono::seconds kInspectModelDeadline{60};
constexpr std::chrono::milliseconds kStopPoll{20};

v1::InspectModelRequest RequestOf(const CampaignPlan& plan) {
  v1::InspectModelRequest request = InspectRequestOf(plan.campaign);
  for (const PlannedProblem& planned : plan.problems) {
    std::vector<std::vector<v1::Message>> prompts = planned.hinted;
    if (prompts.empty()) prompts = {planned.messages};
    if (plan.campaign.search().repairs() > 0) {
      prompts.push_back(SecondTurn(planned.problem, prompts.front()));
    }
    AddPrompts(planned.problem, prompts, planned.response_prefix, &request);
  }
  return request;
}

// Returns the first broken rule as an error. `place` may be empty.
absl::Status Refusal(const std::vector<BrokenRule>& broken,
                     const std::function<SourcePlace(const std::string& key)>& place) {
  if (broken.empty()) return absl::OkStatus();
  const BrokenRule& first = broken.front();
  const std::string what = absl::StrCat("'", first.key, "': ", first.what);
  return place ? ErrorAt(place(first.key), what) : absl::InvalidArgumentError(what);
}

absl::StatusOr<v1::InspectModelResponse> Inspect(const v1::InspectModelRequest& request,
                                                 TrainerClient* trainer, StopSignals* signals) {
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + kInspectModelDeadline;
  Backoff backoff;
  for (;;) {
    CallControl control;
    signals->OnStop([&control] { control.Cancel(); });
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now());
    auto response = trainer->InspectModel(request, {left, &control});
    signals->OnStop(nullptr);
    if (response.ok()) return response;
    if (response.status().code() == absl::StatusCode::kUnimplemented) {
      return absl::FailedPreconditionError(
          "the trainer cannot say whether the model will serve: it is of an older version than "
          "this "
          "whet; install this version on its host and start it again");
    }
    const auto next = steady_clock::now() + backoff.Next();
    if (IsPermanent(Operation::kCall, response.status()) || next >= deadline) return response;
    while (steady_clock::now() < next) {
      if (signals->stopped()) return absl::CancelledError("stopped while asking for the model");
      std::this_thread::sleep_for(kStopPoll);
    }
  }
}

}  // namespace

absl::StatusOr<CheckedModel> CheckLocalModel(
    const CampaignPlan& plan, const std::function<SourcePlace(const std::string& key)>& place,
    const StopSignals* signals) {
  const v1::InspectModelRequest request = RequestOf(plan);
  ASSIGN_OR_RETURN(const v1::InspectModelResponse response,
                   InspectModelLocally(plan.campaign.policy(), request, /*bin_dir=*/"",
                                       [signals] { return signals->stopped(); }));
  RETURN_IF_ERROR(Refusal(CheckModelRules(plan.campaign, request, response), place));
  const LongestPrompt longest = FindLongestPrompt(request, response);
  return CheckedModel{response.model(), longest.name, longest.tokens};
}

absl::Status CheckRemoteModel(const CampaignPlan& plan, TrainerClient* trainer,
                              StopSignals* signals) {
  const v1::InspectModelRequest request = RequestOf(plan);
  ASSIGN_OR_RETURN(const v1::InspectModelResponse response, Inspect(request, trainer, signals));
  return Refusal(CheckModelRules(plan.campaign, request, response), nullptr);
}

}  // namespace whetstone
