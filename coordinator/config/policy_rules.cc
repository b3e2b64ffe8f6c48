#include "coordinator/config/policy_rules.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

absl::Status CheckUrl(const std::string& url, const RuleChecks& rules) {
  const bool known = absl::StartsWith(url, "http://") || absl::StartsWith(url, "https://");
  if (!known || url.find_first_of(" ?#") != std::string::npos) {
    return rules.Wrong("policy.endpoint",
                       absl::StrCat("is '", url,
                                    "', and must be the base URL of a server with OpenAI's chat "
                                    "completions, such as http://127.0.0.1:8000/v1"));
  }
  const std::string host = url.substr(0, url.find('/', url.find("//") + 2));
  if (host.find('@') == std::string::npos) return absl::OkStatus();
  return rules.Wrong("policy.endpoint",
                     "holds a password, which would stand in every log: name the key's "
                     "environment variable in policy.key_env");
}

// What would have no effect, or what a server of chat completions cannot do.
absl::Status CheckOthers(const v1::Campaign& campaign, const RuleChecks& rules) {
  const v1::GenerateConfig& generate = campaign.generate();
  const std::pair<const char*, std::pair<bool, const char*>> others[] = {
      {"warmup", {campaign.has_warmup(), "nothing is taught to a model behind an endpoint"}},
      {"cluster",
       {campaign.has_cluster(), "programs of an endpoint are measured on this machine alone"}},
      {"generate.response_prefix",
       {!generate.response_prefix().empty(), "its answers begin by themselves"}},
      {"chat.thinking",
       {campaign.chat().thinking() != "auto", "its server says whether it thinks"}},
      {"profile", {campaign.profile(), "its time is not the trainer's"}},
      {"generate.stop_ids", {!generate.stop_ids().empty(), "nobody knows the ids of its tokens"}}};
  for (const auto& [key, why] : others) {
    if (!why.first) continue;
    return rules.Wrong(key, absl::StrCat("is not for a campaign with policy.endpoint: ", why.second,
                                         "; leave it out"));
  }
  return absl::OkStatus();
}

absl::Status CheckEndpoint(const v1::Campaign& campaign, const RuleChecks& rules) {
  const v1::PolicyConfig& policy = campaign.policy();
  RETURN_IF_ERROR(CheckUrl(policy.endpoint(), rules));
  if (policy.model().empty()) {
    return rules.Wrong("policy.model", "is missing: the model's name at policy.endpoint");
  }
  if (!policy.key_env().empty() && !policy.key_file().empty()) {
    return rules.Wrong("policy.key_file",
                       "is one place for the key, policy.key_env another; "
                       "leave one of them out");
  }
  for (const char c : policy.key_env()) {
    if (absl::ascii_isalnum(c) || c == '_') continue;
    return rules.Wrong("policy.key_env",
                       "is the name of an environment variable, not the key itself: letters, "
                       "digits and '_'");
  }
  return CheckOthers(campaign, rules);
}

}  // namespace

void SettlePolicy(v1::Campaign* campaign) {
  if (campaign->policy().endpoint().empty()) return;
  campaign->mutable_train()->set_frozen(true);
  campaign->set_model(campaign->policy().model());
}

absl::Status CheckPolicyRules(const v1::Campaign& campaign, const RuleChecks& rules) {
  if (!campaign.policy().endpoint().empty()) {
    RETURN_IF_ERROR(CheckEndpoint(campaign, rules));
  } else if (!campaign.policy().model().empty()) {
    return rules.Wrong("policy.model",
                       "has no effect without policy.endpoint; the trainer's policy is 'model'");
  }
  if (!campaign.train().frozen()) return absl::OkStatus();
  const v1::TrainConfig& train = campaign.train();
  const std::pair<const char*, bool> learning[] = {
      {"train.imitation.size", train.imitation().size() > 0},
      {"train.dynamic_sampling.max_refills", train.dynamic_sampling().max_refills() > 0},
      {"train.kl_beta", train.kl_beta() > 0}};
  for (const auto& [key, on] : learning) {
    if (on) return rules.Wrong(key, "is for learning, and the policy is frozen; leave it out");
  }
  return absl::OkStatus();
}

}  // namespace whetstone
