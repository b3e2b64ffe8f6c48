#include "coordinator/report/learning_health.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coordinator/report/outcome_names.h"

namespace whetstone {
namespace {

using MetricsRows = std::vector<std::map<std::string, double>>;

// NewestRows are the rows that count, and means over them.
class NewestRows {
 public:
  explicit NewestRows(const MetricsRows& rows)
      : rows_(rows), begin_(rows.size() - std::min<size_t>(rows.size(), kHealthSteps)) {}

  double Sum(const std::string& key) const {
    double sum = 0;
    for (size_t i = begin_; i < rows_.size(); ++i) {
      const auto it = rows_[i].find(key);
      sum += it == rows_[i].end() ? 0 : it->second;
    }
    return sum;
  }
  double Mean(const std::string& key) const {
    return Sum(key) / static_cast<double>(rows_.size() - begin_);
  }
  // "in the last 5 steps"
  std::string Where() const {
    const size_t steps = rows_.size() - begin_;
    return steps == 1 ? "in the last step" : absl::StrCat("in the last ", steps, " steps");
  }

 private:
  const MetricsRows& rows_;
  const size_t begin_;
};

// Means of shares have rounding errors.
bool Reaches(double share, double threshold) { return share >= threshold - 1e-9; }

std::string Percent(double share) { return absl::StrFormat("%.0f %%", 100 * share); }

std::string Warmup(const CampaignPlan& plan) {
  return plan.campaign.has_warmup() ? "more of the warm-up (warmup.epochs)"
                                    : "a warm-up on worked examples (warmup.examples) before GRPO";
}

std::string OutcomeAdvice(const CampaignPlan& plan, v1::Outcome outcome) {
  switch (outcome) {
    case v1::NO_CODE:
      return absl::StrCat("the policy does not write a ```cpp block: ",
                          plan.campaign.generate().response_prefix().empty()
                              ? "a generate.response_prefix that opens it, or "
                              : "",
                          Warmup(plan), " teaches the form");
    case v1::FORBIDDEN:
      return "the verdicts say what is forbidden: forbid it in the problem's text as well";
    case v1::COMPILE_ERROR:
      return absl::StrCat("the policy does not know enough C++ for this problem: ", Warmup(plan),
                          ", a lower generate.temperature, or an easier problem to begin with");
    case v1::WRONG_ANSWER:
      return "try an easier problem first, or smaller sizes; and whet problem check, which says "
             "whether the reference itself passes the tolerance";
    case v1::CRASH:
      return "the verdicts name signals and sizes: say in the problem's text which sizes and "
             "strides come";
    case v1::TIMEOUT:
    case v1::MEMORY_LIMIT:
      return "the verdicts name the limit: raise the problem's limits, or check fewer or smaller "
             "sizes";
    case v1::SUSPECT:
      return "faster than the host can be: read a program, then look at the problem's cost";
    case v1::INFRASTRUCTURE_ERROR:
      return "not the candidates' fault, and never learned from: the verdicts and the workers' "
             "logs say why";
    default:
      return "";
  }
}

// Says what makes the rewards of a group differ.
std::string SpreadAdvice(const CampaignPlan& plan, double equal_share, bool all_correct) {
  const v1::Campaign& c = plan.campaign;
  if (all_correct) {
    return "these problems are learned, as far as this reward tells: stop here, or add harder "
           "problems";
  }
  std::vector<std::string> advice;
  // Where all groups are equal, so are those sampled in their place.
  if (c.train().dynamic_sampling().max_refills() == 0 && equal_share < 1) {
    advice.push_back(
        "train.dynamic_sampling.max_refills, which samples other groups in their place");
  }
  advice.push_back(absl::StrCat("a larger train.group_size (now ", c.train().group_size(), ")"));
  advice.push_back(
      absl::StrFormat("a higher generate.temperature (now %g)", c.generate().temperature()));
  advice.push_back("other problems");
  return "updates teach nothing: try " + absl::StrJoin(advice, "; or ");
}

std::string VarietyAdvice(const v1::Campaign& c) {
  std::vector<std::string> advice = {
      absl::StrFormat("a higher generate.temperature (now %g)", c.generate().temperature())};
  if (c.train().entropy_bonus() == 0) advice.push_back("train.entropy_bonus above 0");
  if (c.train().kl_beta() == 0) advice.push_back("train.kl_beta above 0");
  advice.push_back("more problems");
  return absl::StrCat(
      "the policy repeats itself and will find little that is new: stop if the best "
      "program will do, or try ",
      absl::StrJoin(advice, "; or "));
}

}  // namespace

std::vector<HealthFinding> LearningHealth(const CampaignPlan& plan, const MetricsRows& rows) {
  std::vector<HealthFinding> findings;
  const NewestRows newest(rows);
  if (newest.Sum("num_completions") < kHealthCompletionsMin) return findings;
  const v1::Campaign& c = plan.campaign;

  const OutcomeName* only = nullptr;
  for (const OutcomeName& outcome : kOutcomeNames) {
    const double share = newest.Mean(outcome.key);
    if (!Reaches(share, kOneOutcomeShare)) continue;
    only = &outcome;
    if (outcome.outcome == v1::CORRECT) continue;
    findings.push_back({"one_outcome",
                        absl::StrCat(Percent(share), " of the completions ", newest.Where(),
                                     " have one outcome, ", outcome.name),
                        OutcomeAdvice(plan, outcome.outcome)});
  }
  if (const double cut = newest.Mean("completions/clipped_ratio"); Reaches(cut, kCutOffShare)) {
    findings.push_back(
        {"cut_off",
         absl::StrCat(Percent(cut), " of the completions ", newest.Where(), " were cut off"),
         absl::StrCat(
             "raise generate.max_new_tokens (now ", c.generate().max_new_tokens(), ")",
             c.generate().deadline_s() > 0
                 ? absl::StrFormat(" or generate.deadline_s (now %g)", c.generate().deadline_s())
                 : "",
             c.reward().overlong_buffer() > 0 ? ""
                                              : ", or make length cost (reward.overlong_buffer)")});
  }
  if (const double equal = newest.Mean("frac_reward_zero_std"); Reaches(equal, kEqualGroupsShare)) {
    findings.push_back(
        {"equal_rewards",
         absl::StrCat("all rewards were equal in ", Percent(equal), " of the groups ",
                      newest.Where()),
         SpreadAdvice(plan, equal, only != nullptr && only->outcome == v1::CORRECT)});
  }
  if (const double distinct = newest.Mean("completions/distinct");
      Reaches(kDistinctShare, distinct)) {
    findings.push_back({"no_variety",
                        absl::StrCat("only ", Percent(distinct), " of the programs ",
                                     newest.Where(), " differ from each other"),
                        VarietyAdvice(c)});
  }
  return findings;
}

}  // namespace whetstone
