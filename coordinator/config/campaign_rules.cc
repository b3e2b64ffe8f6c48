#include "coordinator/config/campaign_rules.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/config/policy_rules.h"
#include "coordinator/config/problem_rules.h"
#include "coordinator/config/rule_checks.h"

namespace whetstone {
namespace {

class Rules : public RuleChecks {
 public:
  Rules(const v1::Campaign& campaign, std::function<std::string(const std::string&)> where)
      : RuleChecks(std::move(where)), c_(campaign) {}

  absl::Status Check() {
    RETURN_IF_ERROR(Required());
    RETURN_IF_ERROR(CheckProblemRules(c_, *this));
    RETURN_IF_ERROR(CheckPolicyRules(c_, *this));
    RETURN_IF_ERROR(Warmup());
    RETURN_IF_ERROR(Train());
    RETURN_IF_ERROR(Loss());
    RETURN_IF_ERROR(Generate());
    RETURN_IF_ERROR(Reward());
    RETURN_IF_ERROR(Machine());
    RETURN_IF_ERROR(Cluster());
    return Deterministic();
  }

 private:
  absl::Status Required() const {
    if (c_.name().empty()) {
      return Wrong("name", "is missing: it names the campaign and its run directory");
    }
    const auto ok = [](char c) {
      return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
    };
    if (!std::all_of(c_.name().begin(), c_.name().end(), ok) || c_.name()[0] == '.' ||
        c_.name().size() > 100) {
      return Wrong("name", absl::StrCat("may hold letters, digits, '-', '_' and '.', 100 at most, "
                                        "and not begin with '.': '",
                                        c_.name(), "'"));
    }
    if (c_.model().empty() && c_.policy().endpoint().empty()) {
      return Wrong("model", "is missing: the Hugging Face directory to train");
    }
    return absl::OkStatus();
  }

  // What a program chooses by looking at the machine is another thing the next time.
  absl::Status Deterministic() const {
    if (!c_.deterministic() || !c_.policy().endpoint().empty()) return absl::OkStatus();
    if (c_.train().token_budget() == 0) {
      return Wrong("train.token_budget",
                   "is 0, which follows the memory that happens to be free, and how tokens are "
                   "packed decides the last bits of a sum: with 'deterministic', name it, for "
                   "example 2048");
    }
    if (!c_.has_cluster() && c_.local().threads() == 0) {
      return Wrong("local.threads",
                   "is 0, every core that happens to be there, and threads decide the last bits "
                   "of a sum: with 'deterministic', name their number");
    }
    if (!c_.has_cluster() && c_.local().dtype() == "auto") {
      return Wrong("local.dtype",
                   "is auto, which follows the processor; with 'deterministic', name bf16 or fp32");
    }
    if (c_.generate().deadline_s() > 0) {
      return Wrong("generate.deadline_s",
                   "cuts where the machine's speed says; with 'deterministic', leave it out and "
                   "use generate.max_new_tokens");
    }
    return absl::OkStatus();
  }

  absl::Status Warmup() const {
    if (!c_.has_warmup()) return absl::OkStatus();
    const v1::WarmupConfig& w = c_.warmup();
    if (w.examples().empty()) {
      return Wrong("warmup.examples",
                   "is missing: a file of worked examples (leave out 'warmup' for none)");
    }
    RETURN_IF_ERROR(Positive("warmup.epochs", w.epochs()));
    RETURN_IF_ERROR(Positive("warmup.lr", w.lr()));
    RETURN_IF_ERROR(AtLeast("warmup.batch_size", w.batch_size(), 1));
    RETURN_IF_ERROR(AtLeast("warmup.lr_warmup_steps", w.lr_warmup_steps(), 0));
    RETURN_IF_ERROR(AtLeast("warmup.nearest", w.nearest(), 0));
    RETURN_IF_ERROR(AtLeast("warmup.references", w.references(), 0));
    if (!w.rewrites().empty() && w.references() == 0) {
      return Wrong("warmup.rewrites",
                   "is never shown: set warmup.references to the copies of each");
    }
    RETURN_IF_ERROR(OneOf("warmup.order", w.order(), {"shuffle", "curriculum"}));
    return AtLeast("warmup.max_response_chars", w.max_response_chars(), 1);
  }

  absl::Status Train() const {
    const v1::TrainConfig& t = c_.train();
    RETURN_IF_ERROR(AtLeast("train.steps", static_cast<double>(t.steps()), 0));
    if (t.steps() == 0 && !c_.has_warmup() && !c_.has_eval()) {
      return Wrong("train.steps", "is 0 and there is no 'warmup' and no 'eval': nothing to do");
    }
    RETURN_IF_ERROR(AtLeast("train.prompts_per_step", t.prompts_per_step(), 1));
    if (t.group_size() < 2) {
      return Wrong("train.group_size",
                   absl::StrCat("must be at least 2: an advantage compares the rollouts of one "
                                "group, and ",
                                t.group_size(), " leaves nothing to compare"));
    }
    RETURN_IF_ERROR(Positive("train.lr", t.lr()));
    RETURN_IF_ERROR(AtLeast("train.max_grad_norm", t.max_grad_norm(), 0));
    RETURN_IF_ERROR(AtLeast("train.max_staleness", t.max_staleness(), 0));
    RETURN_IF_ERROR(
        AtLeast("train.dynamic_sampling.max_refills", t.dynamic_sampling().max_refills(), 0));
    RETURN_IF_ERROR(AtLeast("train.minibatches", t.minibatches(), 1));
    const int64_t rollouts = int64_t{t.prompts_per_step()} * t.group_size();
    if (t.minibatches() > rollouts) {
      return Wrong("train.minibatches",
                   absl::StrCat("is ", t.minibatches(), ", more than the ", rollouts,
                                " rollouts of a step (prompts_per_step x group_size)"));
    }
    RETURN_IF_ERROR(AtLeast("train.lr_warmup_steps", t.lr_warmup_steps(), 0));
    RETURN_IF_ERROR(OneOf("train.lr_schedule", t.lr_schedule(), {"constant", "cosine"}));
    if (t.lr_min_ratio() < 0 || t.lr_min_ratio() > 1) {
      return Wrong("train.lr_min_ratio",
                   absl::StrCat("must be between 0 and 1, not ", t.lr_min_ratio()));
    }
    RETURN_IF_ERROR(Within("train.beta1", t.beta1(), 0, 1));
    RETURN_IF_ERROR(Within("train.beta2", t.beta2(), 0, 1));
    RETURN_IF_ERROR(Positive("train.eps", t.eps()));
    if (t.spike_factor() != 0 && t.spike_factor() <= 1) {
      return Wrong("train.spike_factor",
                   absl::StrCat("must be 0 (off) or above 1, not ", t.spike_factor(),
                                ": half of all updates are above their median"));
    }
    RETURN_IF_ERROR(AtLeast("train.weight_decay", t.weight_decay(), 0));
    RETURN_IF_ERROR(OneOf("train.optimizer_state", t.optimizer_state(), {"fp32", "bf16", "8bit"}));
    RETURN_IF_ERROR(
        OneOf("train.sharding", t.sharding(), {"none", "optimizer", "gradients", "parameters"}));
    RETURN_IF_ERROR(OneOf("train.activation_checkpointing", t.activation_checkpointing(),
                          {"auto", "none", "full"}));
    RETURN_IF_ERROR(AtLeast("train.imitation.size", t.imitation().size(), 0));
    RETURN_IF_ERROR(AtLeast("train.imitation.from_speedup", t.imitation().from_speedup(), 0));
    RETURN_IF_ERROR(Positive("train.imitation.weight", t.imitation().weight()));
    RETURN_IF_ERROR(AtLeast("train.token_budget", static_cast<double>(t.token_budget()), 0));
    const v1::SearchConfig& search = c_.search();
    RETURN_IF_ERROR(AtLeast("search.parents", search.parents(), 0));
    if (search.parents() > 1) {
      return Wrong("search.parents", absl::StrCat("is a share, at most 1, not ", search.parents()));
    }
    RETURN_IF_ERROR(AtLeast("search.repairs", search.repairs(), 0));
    if (search.parents() + search.repairs() > 1) {
      return Wrong("search.repairs",
                   absl::StrCat("is the share of groups beside search.parents: ",
                                "together at most 1, not ", search.parents() + search.repairs()));
    }
    RETURN_IF_ERROR(AtLeast("search.archive", search.archive(), 1));
    RETURN_IF_ERROR(AtLeast("search.exploration", search.exploration(), 0));
    if (!search.rewrites().empty() && search.parents() == 0) {
      return Wrong("search.rewrites", "is never shown: set search.parents to the share of groups");
    }
    return Lora();
  }

  absl::Status Lora() const {
    const v1::LoraConfig& lora = c_.train().lora();
    RETURN_IF_ERROR(AtLeast("train.lora.rank", lora.rank(), 0));
    RETURN_IF_ERROR(Positive("train.lora.alpha", lora.alpha()));
    for (const std::string& target : lora.targets()) {
      RETURN_IF_ERROR(
          OneOf("train.lora.targets", target,
                {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}));
    }
    if (lora.rank() > 0 && lora.targets().empty()) {
      return Wrong("train.lora.targets", "is empty: adapters need a matrix to adapt");
    }
    if (lora.rank() > 0 && c_.train().sharding() == "parameters") {
      return Wrong("train.sharding",
                   "is parameters, which is for training all weights; with adapters (train.lora) "
                   "use gradients");
    }
    return absl::OkStatus();
  }

  absl::Status Loss() const {
    const v1::TrainConfig& t = c_.train();
    RETURN_IF_ERROR(OneOf("train.loss", t.loss(), {"dapo", "grpo", "dr_grpo", "gspo", "cispo"}));
    if (t.clip_low() <= 0 || t.clip_low() > 1) {
      return Wrong("train.clip_low", absl::StrCat("must be greater than 0 and at most 1, not ",
                                                  t.clip_low(), "; 1 means no lower bound"));
    }
    RETURN_IF_ERROR(Positive("train.clip_high", t.clip_high()));
    if (t.dual_clip() != 0) {
      if (t.loss() == "cispo") {
        return Wrong("train.dual_clip", "must be 0 with cispo, which bounds every ratio already");
      }
      if (t.dual_clip() <= 1 + t.clip_high()) {
        return Wrong("train.dual_clip", absl::StrCat("must be 0 (off) or above 1 + clip_high = ",
                                                     1 + t.clip_high(), ", not ", t.dual_clip()));
      }
    }
    RETURN_IF_ERROR(OneOf("train.advantage_scale", t.advantage_scale(),
                          {"group", "batch", "none", "leave_one_out", "entropic"}));
    RETURN_IF_ERROR(AtLeast("train.kl_beta", t.kl_beta(), 0));
    RETURN_IF_ERROR(OneOf("train.kl_estimator", t.kl_estimator(), {"k1", "k2", "k3"}));
    if (!t.kl_reference().empty() && t.kl_beta() == 0) {
      return Wrong("train.kl_reference", "has no effect while train.kl_beta is 0: set kl_beta too");
    }
    if (!t.kl_reference().empty() && c_.has_cluster()) {
      RETURN_IF_ERROR(
          AbsolutePath("train.kl_reference", t.kl_reference(), "on the trainer's host"));
    }
    const v1::ImportanceConfig& i = t.importance();
    RETURN_IF_ERROR(OneOf("train.importance.mode", i.mode(),
                          {"off", "token_truncate", "token_mask", "sequence_truncate",
                           "sequence_mask", "geometric_truncate", "geometric_mask"}));
    RETURN_IF_ERROR(AtLeast("train.importance.clip_min", i.clip_min(), 0));
    RETURN_IF_ERROR(AtLeast("train.importance.clip_max", i.clip_max(), 0));
    if (i.clip_max() != 0 && i.clip_max() < i.clip_min()) {
      return Wrong("train.importance.clip_max",
                   absl::StrCat("is ", i.clip_max(), ", below clip_min, ", i.clip_min(),
                                "; 0 means no upper bound"));
    }
    return AtLeast("train.entropy_bonus", t.entropy_bonus(), 0);
  }

  absl::Status Generate() const {
    const v1::GenerateConfig& g = c_.generate();
    RETURN_IF_ERROR(AtLeast("generate.max_new_tokens", g.max_new_tokens(), 1));
    if (g.temperature() <= 0 && c_.train().steps() > 0) {
      return Wrong("generate.temperature",
                   absl::StrCat("must be greater than 0, not ", g.temperature(),
                                ": without chance all rollouts of a group are equal and teach "
                                "nothing"));
    }
    if (g.top_p() <= 0 || g.top_p() > 1) {
      return Wrong("generate.top_p",
                   absl::StrCat("must be greater than 0 and at most 1, not ", g.top_p()));
    }
    RETURN_IF_ERROR(AtLeast("generate.top_k", g.top_k(), 0));
    if (g.top_k() == 1) {
      return Wrong("generate.top_k",
                   "is 1: all rollouts of a group would be equal and teach nothing; 0 is off");
    }
    if (!g.response_prefix().empty() && absl::ascii_isspace(g.response_prefix().back())) {
      return Wrong("generate.response_prefix",
                   "ends in white space, which is not a token boundary: the model would have to go "
                   "on in the middle of a token; end it in a visible character");
    }
    for (int i = 0; i < g.stop_size(); ++i) {
      if (g.stop(i).empty()) return Wrong(absl::StrCat("generate.stop[", i, "]"), "is empty");
    }
    if (g.min_p() < 0 || g.min_p() >= 1) {
      return Wrong("generate.min_p",
                   absl::StrCat("must be at least 0 and below 1, not ", g.min_p(),
                                ": with 1 all rollouts of a group would be equal"));
    }
    RETURN_IF_ERROR(Positive("generate.repetition_penalty", g.repetition_penalty()));
    for (int i = 0; i < g.stop_ids_size(); ++i) {
      RETURN_IF_ERROR(AtLeast(absl::StrCat("generate.stop_ids[", i, "]"), g.stop_ids(i), 0));
    }
    RETURN_IF_ERROR(AtLeast("generate.deadline_s", g.deadline_s(), 0));
    RETURN_IF_ERROR(AtLeast("generate.kv_mib_max", static_cast<double>(g.kv_mib_max()), 0));
    RETURN_IF_ERROR(AtLeast("generate.sequences_max", g.sequences_max(), 0));
    return OtherDistribution();
  }

  // The loss is about the policy's own distribution at `temperature`. Where rollouts come from
  // another one, an earlier policy's too, the importance weights tell them apart, and without them
  // it would learn that cutting off is its own doing.
  absl::Status OtherDistribution() const {
    const v1::GenerateConfig& g = c_.generate();
    if (c_.train().steps() == 0 || c_.train().importance().mode() != "off") return absl::OkStatus();
    const std::pair<const char*, bool> settings[] = {
        {"train.max_staleness", c_.train().max_staleness() > 0},
        {"generate.top_p", g.top_p() < 1},
        {"generate.top_k", g.top_k() > 0},
        {"generate.min_p", g.min_p() > 0},
        {"generate.repetition_penalty", g.repetition_penalty() != 1},
        {"generate.presence_penalty", g.presence_penalty() != 0},
        {"generate.frequency_penalty", g.frequency_penalty() != 0}};
    for (const auto& [key, on] : settings) {
      if (!on) continue;
      return Wrong(key,
                   "samples from another distribution than the policy's own, which only the "
                   "importance weights make up for, and 'train.importance.mode' is off: set it "
                   "(token_truncate is usual), or leave this key out");
    }
    return absl::OkStatus();
  }

  absl::Status Reward() const {
    const v1::RewardConfig& r = c_.reward();
    if (r.clip_low() > 0 || r.clip_high() < 0) {
      return Wrong(r.clip_low() > 0 ? "reward.clip_low" : "reward.clip_high",
                   absl::StrCat("leaves out 0, the reward of code as fast as the reference: "
                                "clip_low ",
                                r.clip_low(), ", clip_high ", r.clip_high()));
    }
    RETURN_IF_ERROR(
        OneOf("reward.partial_credit", r.partial_credit(), {"always", "until_correct", "never"}));
    RETURN_IF_ERROR(AtLeast("reward.overlong_buffer", r.overlong_buffer(), 0));
    if (r.overlong_buffer() > c_.generate().max_new_tokens()) {
      return Wrong("reward.overlong_buffer",
                   absl::StrCat("is ", r.overlong_buffer(), " tokens, more than the ",
                                c_.generate().max_new_tokens(),
                                " a completion may have (generate.max_new_tokens)"));
    }
    return AtLeast("reward.overlong_penalty", r.overlong_penalty(), 0);
  }

  absl::Status Machine() const {
    RETURN_IF_ERROR(AtLeast("checkpoint.every", static_cast<double>(c_.checkpoint().every()), 1));
    RETURN_IF_ERROR(AtLeast("checkpoint.keep", c_.checkpoint().keep(), 1));
    RETURN_IF_ERROR(AtLeast("local.threads", c_.local().threads(), 0));
    RETURN_IF_ERROR(AtLeast("local.ranks", c_.local().ranks(), 1));
    if (c_.local().threads() > 0 && c_.local().ranks() > c_.local().threads()) {
      return Wrong("local.ranks",
                   absl::StrCat("is ", c_.local().ranks(), ", more than the ", c_.local().threads(),
                                " threads they share (local.threads)"));
    }
    RETURN_IF_ERROR(Positive("patience.trainer_s", c_.patience().trainer_s()));
    RETURN_IF_ERROR(Positive("patience.worker_s", c_.patience().worker_s()));
    RETURN_IF_ERROR(Positive("patience.measuring_s", c_.patience().measuring_s()));
    RETURN_IF_ERROR(OneOf("chat.thinking", c_.chat().thinking(), {"auto", "on", "off"}));
    RETURN_IF_ERROR(OneOf("measure.isolation_min", c_.measure().isolation_min(),
                          {"namespaces", "landlock", "cgroups"}));
    RETURN_IF_ERROR(OneOf("local.dtype", c_.local().dtype(), {"auto", "bf16", "fp32", "fp16"}));
    return OneOf("local.device", c_.local().device(), {"auto", "cpu", "cuda"});
  }

  absl::Status Cluster() const {
    if (!c_.has_cluster()) return absl::OkStatus();
    const v1::ClusterConfig& cluster = c_.cluster();
    if (cluster.trainer().ssh().empty()) {
      return Wrong("cluster.trainer.ssh", "is missing: the host that runs whet-trainer");
    }
    if (cluster.workers().empty()) {
      return Wrong("cluster.workers", "is missing: at least one host that runs whet-worker");
    }
    RETURN_IF_ERROR(OneOf("cluster.tunnel", cluster.tunnel(), {"libssh", "ssh"}));
    RETURN_IF_ERROR(AbsolutePath("cluster.trainer.socket", cluster.trainer().socket(),
                                 "on the trainer's host"));
    std::set<std::pair<std::string, std::string>> hosts;
    for (int i = 0; i < cluster.workers_size(); ++i) {
      const std::string key = absl::StrCat("cluster.workers[", i, "]");
      const v1::WorkerHost& worker = cluster.workers(i);
      if (worker.ssh().empty()) return Wrong(key, "has no 'ssh': the host that runs whet-worker");
      RETURN_IF_ERROR(AbsolutePath(key + ".socket", worker.socket(), "on the worker's host"));
      if (!hosts.insert({worker.ssh(), worker.socket()}).second) {
        return Wrong(key,
                     absl::StrCat("names ", worker.ssh(), " ", worker.socket(), " a second time"));
      }
    }
    RETURN_IF_ERROR(AbsolutePath("model", c_.model(), "on the trainer's host"));
    if (c_.checkpoint().dir().empty()) {
      return Wrong("checkpoint.dir",
                   "is missing: with a remote trainer, name a directory on its filesystem");
    }
    return AbsolutePath("checkpoint.dir", c_.checkpoint().dir(), "on the trainer's host");
  }

  const v1::Campaign& c_;
};

}  // namespace

absl::Status CheckCampaignRules(const v1::Campaign& campaign,
                                const std::function<std::string(const std::string& key)>& where) {
  return Rules(campaign, where).Check();
}

v1::IsolationLevel IsolationMin(const v1::Campaign& campaign) {
  v1::IsolationLevel level = v1::ISOLATION_LEVEL_UNSPECIFIED;
  CHECK(
      v1::IsolationLevel_Parse(absl::AsciiStrToUpper(campaign.measure().isolation_min()), &level));
  return level;
}

}  // namespace whetstone
