// The evaluation of a model is a campaign that learns nothing: it has no GRPO step and no warm-up.
#ifndef WHETSTONE_COORDINATOR_EVAL_EVAL_CAMPAIGN_H_
#define WHETSTONE_COORDINATOR_EVAL_EVAL_CAMPAIGN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/eval/eval_models.h"
#include "whetstone/v1/campaign.pb.h"

namespace whetstone {

struct EvalSettings {
  std::vector<std::string> problems;  // absolute
  int samples = 16;
  uint64_t seed = 17;
  // Of generate, chat, local, cluster, measure, patience and, but for endpoint and model, policy.
  std::vector<std::string> sets;
};

// Returns the model's campaign: generate, chat, local, cluster, measure, patience and how an
// endpoint is asked are those of `base` (borrowed; null: the defaults). A model behind an endpoint
// begins its answers, and thinks, by itself, whatever generate.response_prefix and chat.thinking
// say of the others. INVALID_ARGUMENT: a set of another key, or a broken rule.
absl::StatusOr<v1::Campaign> EvalCampaign(const NamedModel& model, const v1::Campaign* base,
                                          const EvalSettings& settings);

// Says in what the evaluation `there` was made otherwise than `here` asks for, one text each, such
// as "generate.temperature is 1 there, and 0.5 is asked for". Empty: in nothing.
std::vector<std::string> EvalDifferences(const CampaignPlan& there, const CampaignPlan& here);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_EVAL_EVAL_CAMPAIGN_H_
