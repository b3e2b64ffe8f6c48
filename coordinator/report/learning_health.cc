#include "coordinator/report/learning_health.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coordinator/durable/step_row.h"

namespace whetstone {
namespace {

using MetricsRows = std::vector<std::map<std::string, double>>;

// MeanOfRows are means over the newest rows.
class MeanOfRows {
 public:
  explicit MeanOfRows(const MetricsRows& rows) : rows_(rows) {}

  double Sum(const std::string& key) const {
    double sum = 0;
    for (const auto& row : rows_) {
      const auto it = row.find(key);
      sum += it == row.end() ? 0 : it->second;
    }
    return sum;
  }
  double Mean(const std::string& key) const { return Sum(key) / static_cast<double>(rows_.size()); }
  // "in the last 5 steps"
  std::string Where() const {
    return rows_.size() == 1 ? "in the last step"
                             : absl::StrCat("in the last ", rows_.size(), " steps");
  }

 private:
  const MetricsRows& rows_;
};

// Means of shares have rounding errors.
bool Reaches(double share, double threshold) { return share >= threshold - 1e-9; }

std::string Percent(double share) { return absl::StrFormat("%.0f %%", 100 * share); }

std::string Warmup(const CampaignPlan& plan) {
  return plan.campaign.has_warmup() ? "more of the warm-up (warmup.epochs)"
                                    : "a warm-up on worked examples (warmup.examples) before GRPO";
}

bool IsElsewhere(const CampaignPlan& plan) { return !plan.campaign.policy().endpoint().empty(); }

std::string OutcomeAdvice(const CampaignPlan& plan, v1::Outcome outcome) {
  if (IsElsewhere(plan) && (outcome == v1::NO_CODE || outcome == v1::COMPILE_ERROR)) {
    return "say in the problem's text or in train.hints how it should answer, lower "
           "generate.temperature, or ask another model (policy.model)";
  }
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
  if (c.train().frozen()) {
    return absl::StrFormat(
        "it repeats itself and will find little that is new: stop if the best program will do, or "
        "try a higher generate.temperature (now %g)%s%s",
        c.generate().temperature(), c.train().hints().empty() ? ", or train.hints" : "",
        c.search().parents() == 0 ? ", or search.parents" : "");
  }
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

// Says what leads away from one program that is wrong.
std::string RestAdvice(const CampaignPlan& plan) {
  const v1::Campaign& c = plan.campaign;
  std::vector<std::string> advice;
  if (c.reward().partial_credit() == "always") {
    advice.push_back(
        "reward.partial_credit until_correct or never, so that being partly right is "
        "no resting place");
  }
  if (c.train().imitation().size() == 0) {
    advice.push_back("train.imitation.size above 0, which brings right programs back");
  }
  if (c.train().entropy_bonus() == 0) advice.push_back("train.entropy_bonus above 0");
  advice.push_back(
      absl::StrFormat("a higher generate.temperature (now %g)", c.generate().temperature()));
  advice.push_back(Warmup(plan));
  return "updates teach nothing any more: begin again with " + absl::StrJoin(advice, "; or ");
}

int64_t CountOf(const Attempts& attempts, v1::Outcome outcome) {
  const auto found = attempts.verdicts.find(outcome);
  return found == attempts.verdicts.end() ? 0 : found->second;
}

// "a, b, c, d and 3 more"
std::string FirstOf(const std::set<std::string>& words) {
  constexpr size_t kShown = 4;
  std::vector<std::string> shown;
  for (const std::string& word : words) {
    if (shown.size() < kShown) shown.push_back(word);
  }
  return absl::StrCat(
      absl::StrJoin(shown, ", "),
      words.size() > kShown ? absl::StrCat(" and ", words.size() - kShown, " more") : "");
}

// "unrolling (12), restrict (3)": the most frequent first.
std::string TechniquesText(const std::map<std::string, int64_t>& techniques) {
  std::vector<std::pair<std::string, int64_t>> list(techniques.begin(), techniques.end());
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return absl::StrJoin(list, ", ", [](std::string* out, const auto& technique) {
    absl::StrAppend(out, technique.first, " (", technique.second, ")");
  });
}

}  // namespace

void CollapseWatch::Add(int64_t step, const std::map<std::string, double>& row) {
  const v1::TrainConfig& train = plan_->campaign.train();
  // What learns nothing cannot collapse.
  if (train.frozen() || kCollapseSteps * train.group_size() < kHealthCompletionsMin) return;
  for (const PlannedProblem& planned : plan_->learned()) {
    const std::string& id = planned.problem.id();
    const std::string prefix = absl::StrCat("problem/", id, "/");
    const auto programs = row.find(prefix + "programs");
    if (programs == row.end()) continue;  // the step was about other problems
    const OutcomeName* only = nullptr;
    for (const OutcomeName& outcome : kOutcomeNames) {
      const auto share = row.find(prefix + outcome.key);
      if (share != row.end() && share->second == 1) only = &outcome;
    }
    if (programs->second != 1 || only == nullptr) {
      repeated_.erase(id);
      continue;
    }
    Repeated& repeated = repeated_[id];
    if (repeated.steps++ == 0) repeated.since = step;
    repeated.outcome = only;
    const auto reward = row.find(prefix + "reward");
    repeated.reward = reward == row.end() ? 0 : reward->second;
  }
}

std::vector<HealthFinding> CollapseWatch::Collapsed() const {
  std::vector<HealthFinding> findings;
  for (const auto& [id, repeated] : repeated_) {
    if (repeated.steps >= kCollapseSteps) findings.push_back(Finding(id, repeated));
  }
  return findings;
}

HealthFinding CollapseWatch::Finding(const std::string& id, const Repeated& repeated) const {
  const bool right = repeated.outcome->outcome == v1::CORRECT;
  return {"collapsed",
          absl::StrCat("every completion of ", id, " is the same ", right ? "right" : "wrong",
                       " program since step ", repeated.since, " (", repeated.outcome->name,
                       ", reward ", absl::StrFormat("%.3f", repeated.reward), ")"),
          right ? VarietyAdvice(plan_->campaign) : RestAdvice(*plan_), id};
}

void Attempts::Add(const std::string& problem_id, const v1::Verdict& verdict) {
  problems.insert(problem_id);
  ++verdicts[verdict.outcome()];
  if (verdict.outcome() != v1::CORRECT) return;
  for (const std::string& technique : verdict.techniques()) ++techniques[technique];
  fastest = std::max(fastest, verdict.speedup());
}

// Says what may find something faster where nothing is learned.
std::vector<std::string> SearchAdvice(const CampaignPlan& plan) {
  const v1::Campaign& c = plan.campaign;
  std::vector<std::string> advice;
  if (c.search().rewrites().empty()) {
    advice.push_back(
        "whet rewrite, whose rules look for faster forms of the function to begin with "
        "(search.rewrites)");
  }
  if (c.search().parents() == 0) {
    advice.push_back(
        "search.parents, which shows the fastest program so far as the one to improve");
  }
  if (c.train().hints().empty()) {
    advice.push_back("train.hints, sentences that suggest techniques it did not try");
  }
  if (IsElsewhere(plan)) advice.push_back("another model (policy.model)");
  advice.push_back("more train.steps");
  return advice;
}

// The same where a policy learns.
std::vector<std::string> LearningAdvice(const v1::Campaign& c) {
  std::vector<std::string> advice;
  if (c.warmup().rewrites().empty()) {
    advice.push_back(
        "whet rewrite, whose rules look for faster forms of the function to be taught first "
        "(warmup.rewrites)");
  }
  if (c.train().hints().empty()) {
    advice.push_back("train.hints, sentences that suggest techniques it did not try");
  }
  if (c.train().imitation().size() == 0) {
    advice.push_back("train.imitation, which learns again from the best programs");
  }
  advice.push_back(
      c.has_warmup() && c.warmup().nearest() == 0
          ? "warmup.nearest, which takes the worked examples that are most like the problem"
          : "worked examples of what makes this kind of code fast (warmup.examples)");
  advice.push_back("more train.steps or a larger train.group_size");
  return advice;
}

HealthFinding NothingFaster(const CampaignPlan& plan, const Attempts& attempts) {
  int64_t all = 0;
  std::vector<std::string> outcomes;
  v1::Outcome most = v1::OUTCOME_UNSPECIFIED;
  for (const OutcomeName& name : kOutcomeNames) {
    const int64_t count = CountOf(attempts, name.outcome);
    all += count;
    if (count == 0) continue;
    outcomes.push_back(absl::StrCat(count, " ", name.name));
    if (name.outcome != v1::CORRECT && count > CountOf(attempts, most)) most = name.outcome;
  }
  HealthFinding finding{kNothingFaster, "", ""};
  finding.what =
      absl::StrCat("nothing faster than the reference was found for ", FirstOf(attempts.problems),
                   ": of ", all, " programs ", absl::StrJoin(outcomes, ", "));
  const int64_t right = CountOf(attempts, v1::CORRECT);
  if (right > 0) {
    absl::StrAppend(&finding.what, "; the fastest right one was first measured at ",
                    SpeedupText(attempts.fastest), ", and right ones tried ",
                    attempts.techniques.empty() ? "no technique that is known"
                                                : TechniquesText(attempts.techniques));
  }
  const v1::Campaign& c = plan.campaign;
  std::vector<std::string> advice;
  // Where few are right the failures come first, else the lack of ideas.
  constexpr double kFewRight = 0.5;
  if (static_cast<double>(right) < kFewRight * static_cast<double>(all)) {
    advice.push_back(OutcomeAdvice(plan, most));
    const bool spared = IsElsewhere(plan) || !c.generate().response_prefix().empty();
    if (most == v1::COMPILE_ERROR && !spared) {
      advice.push_back("generate.response_prefix with {signature}, which spares writing it");
    }
    const bool paid = c.reward().partial_credit() == "always" && !c.train().frozen();
    if (most == v1::WRONG_ANSWER && paid) {
      advice.push_back("reward.partial_credit until_correct");
    }
    if (right == 0 && c.has_warmup() && c.warmup().references() == 0) {
      advice.push_back("warmup.references, which shows the reference as a right answer");
    }
  }
  for (std::string& more : c.train().frozen() ? SearchAdvice(plan) : LearningAdvice(c)) {
    advice.push_back(std::move(more));
  }
  finding.advice =
      absl::StrCat("what may help: ", absl::StrJoin(advice, "; or "),
                   " (docs/campaign.md explains the keys, docs/losses.md what they do)");
  return finding;
}

std::vector<HealthFinding> LearningHealth(const CampaignPlan& plan, const MetricsRows& rows) {
  LearningWatch watch(&plan);
  for (size_t i = 0; i < rows.size(); ++i) watch.Add(static_cast<int64_t>(i) + 1, rows[i]);
  return watch.Findings();
}

void LearningWatch::Add(int64_t step, const std::map<std::string, double>& row) {
  collapse_.Add(step, row);
  trend_.Add(row);
  if (newest_.size() == static_cast<size_t>(kHealthSteps)) newest_.erase(newest_.begin());
  newest_.push_back(row);
}

std::vector<HealthFinding> LearningWatch::Findings() const {
  const CampaignPlan& plan = *plan_;
  const MeanOfRows newest(newest_);
  if (newest.Sum("num_completions") < kHealthCompletionsMin) return {};
  const std::vector<HealthFinding> collapsed = collapse_.Collapsed();
  std::vector<HealthFinding> findings = collapsed;
  // What is said of every problem need not be said again.
  const bool all_collapsed = collapsed.size() == plan.learned().size();
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
  if (const double equal = newest.Mean("frac_reward_zero_std");
      Reaches(equal, kEqualGroupsShare) && !all_collapsed && !c.train().frozen()) {
    findings.push_back(
        {"equal_rewards",
         absl::StrCat("all rewards were equal, within their errors, in ", Percent(equal),
                      " of the groups ", newest.Where()),
         SpreadAdvice(plan, equal, only != nullptr && only->outcome == v1::CORRECT)});
  }
  if (const double distinct = newest.Mean("completions/distinct");
      Reaches(kDistinctShare, distinct) && collapsed.empty()) {
    findings.push_back({"no_variety",
                        absl::StrCat("only ", Percent(distinct), " of the programs ",
                                     newest.Where(), " differ from each other"),
                        VarietyAdvice(c)});
  }
  for (HealthFinding& finding : trend_.Findings()) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace whetstone
