#include "coordinator/config/setting_changes.h"

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/yaml/yaml_writer.h"

namespace whetstone {
namespace {

constexpr ChangeCounts kNever = ChangeCounts::kNever;
constexpr ChangeCounts kFromStart = ChangeCounts::kFromStart;
constexpr ChangeCounts kRoughly = ChangeCounts::kRoughly;
constexpr ChangeCounts kNextStep = ChangeCounts::kFromNextStep;

constexpr char kOptimizer[] = "the optimizer's state in the run's checkpoints is of this form";
constexpr char kWhenLoaded[] = "the trainer takes it with the policy that it loads";

// What is not read by step (CampaignPlan::CampaignAt) is kFromStart, kRoughly or kNever.
constexpr SettingRule kRules[] = {
    {"name", kNever, "it names the run"},
    {"model", kNever, "the run's checkpoints are of it"},
    {"problems", kNever, "the run's rollouts and verdicts are of them"},
    {"seed", kNever, "the run's random numbers began with it"},
    {"deterministic", kNever, "it is a promise about every step"},
    {"warmup", kNever, "the warm-up was laid out before its first update"},
    {"train.steps", kNextStep},
    {"train.prompts_per_step", kNever, "problems take turns by it from the first step on"},
    {"train.group_size", kNextStep},
    {"train.lr", kNextStep},
    {"train.loss", kNextStep},
    {"train.clip_low", kNextStep},
    {"train.clip_high", kNextStep},
    {"train.kl_beta", kNever, "its reference was kept from the beginning, or not at all"},
    {"train.advantage_scale", kNextStep},
    {"train.max_grad_norm", kNextStep},
    {"train.max_staleness", kNever, "it says which policy sampled each step"},
    {"train.lora", kNever, kOptimizer},
    {"train.minibatches", kNextStep},
    {"train.importance", kNextStep},
    {"train.lr_warmup_steps", kNextStep},
    {"train.lr_schedule", kNextStep},
    {"train.lr_min_ratio", kNextStep},
    {"train.beta1", kNextStep},
    {"train.beta2", kNextStep},
    {"train.eps", kNextStep},
    {"train.weight_decay", kNextStep},
    {"train.dual_clip", kNextStep},
    {"train.kl_estimator", kNextStep},
    {"train.kl_reference", kNever, "the run was pulled towards it from the beginning"},
    {"train.entropy_bonus", kNextStep},
    {"train.mask_truncated", kNextStep},
    {"train.spike_factor", kNextStep},
    {"train.grad_norm_per_layer", kNextStep},
    {"train.optimizer_state", kNever, kOptimizer},
    {"train.activation_checkpointing", kNever, kWhenLoaded},
    {"train.token_budget", kNever, kWhenLoaded},
    {"train.dynamic_sampling", kNextStep},
    {"train.sharding", kNever, kWhenLoaded},
    {"train.imitation", kNever, "what is remembered follows from it, from the first step on"},
    {"train.hints", kNever, "they take turns from the first step on"},
    {"train.frozen", kNever, "checkpoints and updates follow from it"},
    {"generate.max_new_tokens", kNextStep},
    {"generate.temperature", kNextStep},
    {"generate.top_p", kNextStep},
    {"generate.top_k", kNextStep},
    {"generate.response_prefix", kNever, "programs are read out of answers that begin with it"},
    {"generate.stop", kNextStep},
    {"generate.min_p", kNextStep},
    {"generate.repetition_penalty", kNextStep},
    {"generate.presence_penalty", kNextStep},
    {"generate.frequency_penalty", kNextStep},
    {"generate.stop_ids", kNextStep},
    {"generate.deadline_s", kNextStep},
    {"generate.kv_mib_max", kNextStep},
    {"generate.sequences_max", kNextStep},
    {"checkpoint.every", kFromStart},
    {"checkpoint.keep", kFromStart},
    {"checkpoint.keep_best", kFromStart},
    {"checkpoint.best_by", kFromStart},
    {"checkpoint.dir", kNever, "what the run saved lies there"},
    {"reward", kNever, "rewards before and after could not be compared"},
    {"cluster.trainer", kFromStart},
    {"cluster.ssh_config", kFromStart},
    {"cluster.tunnel", kFromStart},
    {"cluster.workers", kNever, "whet workers RUN add and remove change them"},
    {"local.threads", kRoughly},
    {"local.ranks", kRoughly},
    {"local.dtype", kNever, "the run's numbers are of this type"},
    {"local.device", kNever, "the run's numbers are of this device"},
    {"profile", kNextStep},
    {"chat", kNever, "the run's prompts were rendered by it"},
    {"measure.isolation_min", kFromStart},
    {"eval.problems", kNever, "the run's evaluations are of them"},
    {"eval.every", kNextStep},
    {"eval.samples", kNextStep},
    {"search", kNever, "what was shown follows from it, from the first step on"},
    {"policy.endpoint", kNever, "it wrote the run's programs"},
    {"policy.model", kNever, "it wrote the run's programs"},
    {"policy.key_env", kFromStart},
    {"policy.key_file", kFromStart},
    {"policy.concurrency", kFromStart},
    {"policy.requests_max", kFromStart},
    {"policy.tokens_max", kFromStart},
    {"policy.timeout_s", kFromStart},
    {"patience", kFromStart},
    {"notify", kFromStart},
};

}  // namespace

std::vector<SettingChange> SettingChanges(const v1::Campaign& before, const v1::Campaign& after) {
  std::map<std::string, SettingChange> keys;
  for (const auto& [key, value] : FlatYaml(before)) keys[key].before = value;
  for (const auto& [key, value] : FlatYaml(after)) keys[key].after = value;
  std::vector<SettingChange> changes;
  for (auto& [key, change] : keys) {
    if (change.before == change.after) continue;
    change.key = key;
    changes.push_back(std::move(change));
  }
  return changes;
}

std::string SettingChangesText(const std::vector<SettingChange>& changes) {
  const auto text = [](std::string* out, const SettingChange& change) {
    absl::StrAppend(out, change.key, " ", change.before.empty() ? "(none)" : change.before, " -> ",
                    change.after.empty() ? "(none)" : change.after);
  };
  return absl::StrJoin(changes, ", ", text);
}

const SettingRule* RuleOf(absl::string_view key) {
  for (const SettingRule& rule : kRules) {
    if (key == rule.key || absl::StartsWith(key, absl::StrCat(rule.key, "."))) return &rule;
  }
  return nullptr;
}

absl::Status CheckMayChange(const SettingChange& change, bool deterministic) {
  const SettingRule* const rule = RuleOf(change.key);
  CHECK(rule != nullptr && "every key has a rule");
  absl::string_view why_not = rule->why_not;
  if (change.before.empty() || change.after.empty()) {
    why_not = "a campaign that has begun gains and loses no section";
  } else if (rule->counts == kRoughly && deterministic) {
    why_not = "a deterministic run's last bits follow from it";
  } else if (rule->counts != kNever) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", change.key, "' of a campaign that has begun can't be changed (",
                   SettingChangesText({change}), "): ", why_not));
}

absl::StatusOr<v1::Campaign> WithSettings(const v1::Campaign& campaign,
                                          const std::vector<std::string>& sets) {
  return ParseCampaign(MessageToYaml(campaign), "the run's campaign", "/", sets);
}

absl::StatusOr<v1::Campaign> ChangedCampaign(const v1::Campaign& campaign,
                                             const std::vector<std::string>& sets) {
  ASSIGN_OR_RETURN(const v1::Campaign changed, WithSettings(campaign, sets));
  for (const SettingChange& change : SettingChanges(campaign, changed)) {
    RETURN_IF_ERROR(CheckMayChange(change, campaign.deterministic()));
  }
  return changed;
}

bool SaysHowAnEndpointIsAsked(absl::string_view set) {
  const SettingRule* const rule = RuleOf(set.substr(0, set.find('=')));
  return rule != nullptr && rule->counts == kFromStart && absl::StartsWith(rule->key, "policy.");
}

}  // namespace whetstone
