#include "coordinator/config/campaign_rules.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/config/policy_rules.h"
#include "coordinator/config/problem_rules.h"
#include "coordinator/config/rule_checks.h"

namespace whetstone {
namespace {

class Rules : public RuleChecks {
 public:
  Rules(const v1::Campaign& campaign, std::function<SourcePlace(const std::string&)> place)
      : RuleChecks(std::move(place)), c_(campaign) {}

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
    if (!w.rewrites().empty() && w.references() == 0) {
      return Wrong("warmup.rewrites",
                   "is never shown: set warmup.references to the copies of each");
    }
    return absl::OkStatus();
  }

  absl::Status Train() const {
    const v1::TrainConfig& t = c_.train();
    if (t.steps() == 0 && !c_.has_warmup() && !c_.has_eval()) {
      return Wrong("train.steps", "is 0 and there is no 'warmup' and no 'eval': nothing to do");
    }
    if (t.group_size() < 2) {
      return Wrong("train.group_size",
                   absl::StrCat("must be at least 2: an advantage compares the rollouts of one "
                                "group, and ",
                                t.group_size(), " leaves nothing to compare"));
    }
    const int64_t rollouts = int64_t{t.prompts_per_step()} * t.group_size();
    if (t.minibatches() > rollouts) {
      return Wrong("train.minibatches",
                   absl::StrCat("is ", t.minibatches(), ", more than the ", rollouts,
                                " rollouts of a step (prompts_per_step x group_size)"));
    }
    if (t.spike_factor() != 0 && t.spike_factor() <= 1) {
      return Wrong("train.spike_factor",
                   absl::StrCat("must be 0 (off) or above 1, not ", t.spike_factor(),
                                ": half of all updates are above their median"));
    }
    const v1::SearchConfig& search = c_.search();
    if (search.parents() > 1) {
      return Wrong("search.parents", absl::StrCat("is a share, at most 1, not ", search.parents()));
    }
    if (search.parents() + search.repairs() > 1) {
      return Wrong("search.repairs",
                   absl::StrCat("is the share of groups beside search.parents: ",
                                "together at most 1, not ", search.parents() + search.repairs()));
    }
    if (!search.rewrites().empty() && search.parents() == 0) {
      return Wrong("search.rewrites", "is never shown: set search.parents to the share of groups");
    }
    return Lora();
  }

  absl::Status Lora() const {
    const v1::LoraConfig& lora = c_.train().lora();
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
    if (t.dual_clip() != 0) {
      if (t.loss() == "cispo") {
        return Wrong("train.dual_clip", "must be 0 with cispo, which bounds every ratio already");
      }
      if (t.dual_clip() <= 1 + t.clip_high()) {
        return Wrong("train.dual_clip", absl::StrCat("must be 0 (off) or above 1 + clip_high = ",
                                                     1 + t.clip_high(), ", not ", t.dual_clip()));
      }
    }
    if (!t.kl_reference().empty() && t.kl_beta() == 0) {
      return Wrong("train.kl_reference", "has no effect while train.kl_beta is 0: set kl_beta too");
    }
    if (!t.kl_reference().empty() && c_.has_cluster()) {
      RETURN_IF_ERROR(
          AbsolutePath("train.kl_reference", t.kl_reference(), "on the trainer's host"));
    }
    const v1::ImportanceConfig& i = t.importance();
    if (i.clip_max() != 0 && i.clip_max() < i.clip_min()) {
      return Wrong("train.importance.clip_max",
                   absl::StrCat("is ", i.clip_max(), ", below clip_min, ", i.clip_min(),
                                "; 0 means no upper bound"));
    }
    return absl::OkStatus();
  }

  absl::Status Generate() const {
    const v1::GenerateConfig& g = c_.generate();
    if (g.temperature() <= 0 && c_.train().steps() > 0) {
      return Wrong("generate.temperature",
                   absl::StrCat("must be greater than 0, not ", g.temperature(),
                                ": without chance all rollouts of a group are equal and teach "
                                "nothing"));
    }
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
    if (r.overlong_buffer() > c_.generate().max_new_tokens()) {
      return Wrong("reward.overlong_buffer",
                   absl::StrCat("is ", r.overlong_buffer(), " tokens, more than the ",
                                c_.generate().max_new_tokens(),
                                " a completion may have (generate.max_new_tokens)"));
    }
    return absl::OkStatus();
  }

  absl::Status Machine() const {
    if (c_.local().threads() > 0 && c_.local().ranks() > c_.local().threads()) {
      return Wrong("local.ranks",
                   absl::StrCat("is ", c_.local().ranks(), ", more than the ", c_.local().threads(),
                                " threads they share (local.threads)"));
    }
    return absl::OkStatus();
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
                                const std::function<SourcePlace(const std::string& key)>& place) {
  return Rules(campaign, place).Check();
}

v1::IsolationLevel IsolationMin(const v1::Campaign& campaign) {
  v1::IsolationLevel level = v1::ISOLATION_LEVEL_UNSPECIFIED;
  CHECK(
      v1::IsolationLevel_Parse(absl::AsciiStrToUpper(campaign.measure().isolation_min()), &level));
  return level;
}

}  // namespace whetstone
