#include "coordinator/durable/step_row.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace whetstone {
namespace {

struct Spread {
  double mean = 0;
  // `deviation` is that of the sample (n - 1), as TRL reports it.
  double deviation = 0;
};

Spread SpreadOf(const std::vector<double>& values) {
  Spread spread;
  if (values.empty()) return spread;
  for (const double v : values) spread.mean += v;
  spread.mean /= static_cast<double>(values.size());
  if (values.size() < 2) return spread;
  for (const double v : values) spread.deviation += (v - spread.mean) * (v - spread.mean);
  spread.deviation = std::sqrt(spread.deviation / static_cast<double>(values.size() - 1));
  return spread;
}

// The rewards are only those of the groups that were sampled first: which further ones there are
// depends on their rewards.
void AddRewards(const CampaignPlan& plan, const StepRecord& step,
                std::map<std::string, double>* row) {
  const size_t first_groups = static_cast<size_t>(plan.campaign.train().prompts_per_step());
  std::vector<double> all;
  std::map<std::string, std::vector<double>> by_problem;
  double deviations = 0;
  int flat_groups = 0;
  double learned = 0, noise = 0;  // Of the variance of normalised advantages.
  for (size_t g = 0; g < first_groups; ++g) {
    std::vector<double> group;
    for (const CandidateRecord& record : step.groups[g].samples) {
      if (!record.verdict->dropped) group.push_back(record.verdict->reward);
    }
    const Spread spread = SpreadOf(group);
    deviations += spread.deviation;
    const double share = step.groups[g].NoiseShare();
    flat_groups += share < 1 ? 0 : 1;
    learned += (1 - share) * (1 - share);
    noise += (1 - share) * (1 - share) * share;
    all.insert(all.end(), group.begin(), group.end());
    std::vector<double>& rewards =
        by_problem[plan.ProblemOf(step.step, static_cast<int>(g)).problem.id()];
    rewards.insert(rewards.end(), group.begin(), group.end());
  }
  const double groups = static_cast<double>(first_groups);
  (*row)["reward"] = SpreadOf(all).mean;
  // This is, as in TRL, the mean over groups of the deviation within the group.
  (*row)["reward_std"] = deviations / groups;
  (*row)["frac_reward_zero_std"] = flat_groups / groups;
  if (learned > 0) (*row)["reward_noise_share"] = noise / learned;
  for (const auto& [id, rewards] : by_problem) {
    (*row)[absl::StrCat("problem/", id, "/reward")] = SpreadOf(rewards).mean;
  }
}

// Adds what dynamic sampling did.
void AddRefills(const StepRecord& step, const v1::UpdateRequest& request,
                std::map<std::string, double>* row) {
  std::vector<double> learned;
  for (const GroupRecord& group : step.groups) {
    if (!group.HasSpread()) continue;
    for (const CandidateRecord& record : group.samples) {
      if (!record.verdict->dropped) learned.push_back(record.verdict->reward);
    }
  }
  (*row)["refills"] = step.refills;
  (*row)["discarded_groups"] =
      static_cast<double>(step.groups.size()) - request.grpo().groups_size();
  if (!learned.empty()) (*row)["reward_learned"] = SpreadOf(learned).mean;
}

std::string OutcomeKey(int outcome) {
  return absl::StrCat("outcome/",
                      absl::AsciiStrToLower(v1::Outcome_Name(static_cast<v1::Outcome>(outcome))));
}

// ProblemOutcomes is what became of a problem's completions of one step.
struct ProblemOutcomes {
  std::map<int, int> outcomes;
  std::set<std::string> programs;
  int count = 0;
};

// Adds problem/ID/programs, how many different ones there were, and the shares of the outcomes that
// came.
void AddProblems(const std::map<std::string, ProblemOutcomes>& problems,
                 std::map<std::string, double>* row) {
  for (const auto& [id, problem] : problems) {
    (*row)[absl::StrCat("problem/", id, "/programs")] =
        static_cast<double>(problem.programs.size());
    for (const auto& [outcome, count] : problem.outcomes) {
      (*row)[absl::StrCat("problem/", id, "/", OutcomeKey(outcome))] =
          static_cast<double>(count) / problem.count;
    }
  }
}

void AddOutcomes(const CampaignPlan& plan, const StepRecord& step,
                 std::map<std::string, double>* row) {
  std::map<int, int> outcomes;
  std::set<std::string> distinct;
  std::map<std::string, ProblemOutcomes> problems;
  std::vector<double> log_speedups;
  double tokens = 0;
  double longest = 0;
  int cut = 0;
  int dropped = 0;
  int reused = 0;
  int count = 0;
  for (size_t g = 0; g < step.groups.size(); ++g) {
    ProblemOutcomes& problem =
        problems[plan.ProblemOf(step.step, static_cast<int>(g)).problem.id()];
    for (const CandidateRecord& record : step.groups[g].samples) {
      const v1::Verdict& verdict = record.verdict->verdict;
      const std::string& program =
          verdict.canonical_hash().empty() ? record.completion->text() : verdict.canonical_hash();
      ++count;
      ++outcomes[verdict.outcome()];
      ++problem.count;
      ++problem.outcomes[verdict.outcome()];
      problem.programs.insert(program);
      dropped += record.verdict->dropped ? 1 : 0;
      reused += verdict.cached() ? 1 : 0;
      tokens += TokenCount(*record.completion);
      longest = std::max(longest, static_cast<double>(TokenCount(*record.completion)));
      cut += record.completion->finish() != v1::Completion::STOP ? 1 : 0;
      distinct.insert(program);
      if (verdict.outcome() == v1::CORRECT) log_speedups.push_back(std::log(verdict.speedup()));
    }
  }
  const double n = count;
  for (int o = v1::Outcome_MIN + 1; o <= v1::Outcome_MAX; ++o) {
    (*row)[OutcomeKey(o)] = outcomes[o] / n;
  }
  (*row)["outcome/dropped"] = dropped / n;
  (*row)["completions/mean_length"] = tokens / n;
  (*row)["completions/max_length"] = longest;
  (*row)["completions/clipped_ratio"] = cut / n;
  (*row)["completions/distinct"] = static_cast<double>(distinct.size()) / n;
  (*row)["completions/verdicts_reused"] = reused / n;
  (*row)["num_completions"] = n;
  AddProblems(problems, row);
  if (!log_speedups.empty()) {
    (*row)["speedup/mean"] = std::exp(SpreadOf(log_speedups).mean);
    (*row)["speedup/max"] = std::exp(*std::max_element(log_speedups.begin(), log_speedups.end()));
  }
}

// Adds what groups with a parent made of it.
void AddSearch(const CampaignPlan& plan, const StepRecord& step, const DurableState& durable,
               std::map<std::string, double>* row) {
  int with = 0, better = 0, wrong = 0, repaired = 0;
  std::set<std::string> ids;
  for (size_t g = 0; g < step.groups.size(); ++g) {
    const GroupRecord& group = step.groups[g];
    ids.insert(plan.ProblemOf(step.step, static_cast<int>(g)).problem.id());
    if (!group.parent) continue;
    // A program that failed has no speedup.
    const bool gained =
        std::any_of(group.samples.begin(), group.samples.end(), [&](const CandidateRecord& record) {
          const v1::Verdict& verdict = record.verdict->verdict;
          return verdict.outcome() == v1::CORRECT && verdict.speedup_low() > group.parent->speedup;
        });
    const bool failed = !group.parent->failure.empty();
    (failed ? wrong : with) += 1;
    (failed ? repaired : better) += gained ? 1 : 0;
  }
  const auto groups = static_cast<double>(step.groups.size());
  (*row)["search/parents"] = with / groups;
  if (with > 0) (*row)["search/better"] = static_cast<double>(better) / with;
  (*row)["search/repairs"] = wrong / groups;
  if (wrong > 0) (*row)["search/repaired"] = static_cast<double>(repaired) / wrong;
  for (const std::string& id : ids) {
    const auto found = durable.archive().find(id);
    (*row)[absl::StrCat("search/archived/", id)] =
        found == durable.archive().end() ? 0 : static_cast<double>(found->second.programs.size());
  }
}

void AddMeasuring(const StepTimes& times, std::map<std::string, double>* row) {
  (*row)["time/measure"] = times.measure;
  (*row)["time/wait_verdicts"] = times.wait_verdicts;
  if (times.step > 0) (*row)["time/wait_verdicts_share"] = times.wait_verdicts / times.step;
  (*row)["measure/slots"] = times.slots;
  const Seconds worked = times.generate + times.update + times.checkpoint;
  if (worked > 0 && !times.slots_share_cores) {
    (*row)["measure/slots_needed"] = std::ceil(times.slots_busy / worked);
  }
}

double Get(const std::map<std::string, double>& row, const std::string& key) {
  const auto it = row.find(key);
  return it == row.end() ? 0 : it->second;
}

// Returns what would let the trainer wait less for rewards.
std::string WaitAdvice(const CampaignPlan& plan, const std::map<std::string, double>& row) {
  const auto needed = row.find("measure/slots_needed");
  if (needed == row.end()) return "workers on cores of their own could measure meanwhile";
  const double slots = Get(row, "measure/slots");
  const bool strict = plan.campaign.train().max_staleness() == 0;
  if (needed->second > slots) {
    return absl::StrFormat("%.0f slots%s would keep up with the trainer, there are %.0f",
                           needed->second, strict ? " and train.max_staleness 1" : "", slots);
  }
  if (strict) return "train.max_staleness 1 would generate the next step meanwhile";
  return "the last ones took long; a larger train.max_staleness would help";
}

// Says what the step waited for most, and which setting would help; and the same of verdicts,
// wherever the trainer idled for more than a tenth of the step.
std::string Bottleneck(const CampaignPlan& plan, const std::map<std::string, double>& row) {
  constexpr double kIdleMax = 0.1;
  const double step = Get(row, "time/step");
  const std::string advice = "verdicts; " + WaitAdvice(plan, row);
  // The end of warm-up and the last step are saved in any case.
  const bool often = plan.campaign.checkpoint().every() < plan.campaign.train().steps();
  const std::pair<const char*, std::string> parts[] = {
      {"time/generate", plan.campaign.policy().endpoint().empty()
                            ? "generation; fewer max_new_tokens or a smaller group would help"
                            : "the endpoint; a larger policy.concurrency may help"},
      {"time/wait_verdicts", advice},
      {"time/update", "the update; fewer rollouts or shorter completions would help"},
      {"time/checkpoint",
       absl::StrCat("checkpoints", often ? "; a larger checkpoint.every would help" : "")},
      {"time/prepare",
       "preparation: services start, the policy is loaded, problems are calibrated"},
      {"time/wait_services", "a service that was down; see its log"}};
  const auto* longest = &parts[0];
  for (const auto& part : parts) {
    if (Get(row, part.first) > Get(row, longest->first)) longest = &part;
  }
  const auto share = [&](const char* part) { return step > 0 ? Get(row, part) / step : 0; };
  std::string text = absl::StrFormat("%.0f%% %s", 100 * share(longest->first), longest->second);
  const double idle = share("time/wait_verdicts");
  if (idle > kIdleMax && longest->second != advice) {
    absl::StrAppend(&text, absl::StrFormat("; %.0f%% %s", 100 * idle, advice));
  }
  return text;
}

}  // namespace

std::map<std::string, double> BuildRow(const CampaignPlan& plan, const DurableState& durable,
                                       const v1::UpdateRequest& request,
                                       const v1::UpdateResponse& response, const StepTimes& times) {
  std::map<std::string, double> row(response.metrics().begin(), response.metrics().end());
  const int64_t position = plan.PositionOf(request.name());
  const bool frozen = plan.LearnedAt(position) < position;
  if (!frozen) row["lr"] = request.optimizer().lr();
  row["applied"] = response.applied() ? 1 : 0;
  row["time/update"] = times.update;
  row["time/checkpoint"] = times.checkpoint;
  row["time/prepare"] = times.prepare;
  row["time/wait_services"] = times.wait_services;
  row["time/step"] = times.step;
  if (request.profile()) {
    row["profile/wait_rewards_s"] = times.wait_verdicts;
    const double idle_s = times.generate + times.update - Get(row, "profile/computed_s") -
                          Get(row, "profile/measure_machine_s");
    row["profile/communication_s"] = std::max(0.0, idle_s);
  }
  if (request.name().phase() == v1::UpdateName::WARMUP) return row;
  row["time/generate"] = times.generate;
  if (times.generate > 0) {
    row["perf/generate_tokens_per_s"] =
        static_cast<double>(times.generated_tokens) / times.generate;
  }
  AddMeasuring(times, &row);
  const StepRecord& step = durable.open_steps().front();
  AddRewards(plan, step, &row);
  AddOutcomes(plan, step, &row);
  if (plan.CampaignAt(step.step).train().dynamic_sampling().max_refills() > 0)
    AddRefills(step, request, &row);
  if (Searches(plan.campaign)) AddSearch(plan, step, durable, &row);
  for (const auto& [id, incumbent] : durable.incumbents()) {
    row[absl::StrCat("speedup/best/", id)] = incumbent.verdict.speedup();
  }
  if (plan.campaign.train().max_staleness() > 0 && !frozen) {
    row["staleness"] = static_cast<double>(durable.position() - *step.groups[0].policy);
  }
  return row;
}

std::string RowLine(const CampaignPlan& plan, const v1::UpdateName& name,
                    const std::map<std::string, double>& row) {
  if (name.phase() == v1::UpdateName::WARMUP) {
    return absl::StrFormat("warm-up %d/%d  loss %.3f  %.1f s", name.step(), plan.warmup_updates(),
                           Get(row, "loss"), Get(row, "time/step"));
  }
  double best = 0;
  for (const auto& [key, value] : row) {
    if (key.rfind("speedup/best/", 0) == 0) best = std::max(best, value);
  }
  best = std::max(best, Get(row, "speedup/max"));
  std::string line = absl::StrFormat("step %d/%d  reward %6.3f (std %.2f)  correct %3.0f%%",
                                     name.step(), plan.campaign.train().steps(), Get(row, "reward"),
                                     Get(row, "reward_std"), 100 * Get(row, "outcome/correct"));
  if (best > 0) absl::StrAppend(&line, "  best ", SpeedupText(best));
  if (Get(row, "refills") > 0) {
    absl::StrAppend(&line, absl::StrFormat("  %.0f refills, %.0f groups discarded",
                                           Get(row, "refills"), Get(row, "discarded_groups")));
  }
  absl::StrAppend(&line,
                  absl::StrFormat("  %.1f s: generate %.1f, verdicts %.1f, update %.1f  [%s]",
                                  Get(row, "time/step"), Get(row, "time/generate"),
                                  Get(row, "time/wait_verdicts"), Get(row, "time/update"),
                                  Bottleneck(plan, row)));
  return line;
}

std::string SpeedupText(double speedup) {
  return speedup < 0.1 ? absl::StrFormat("%.2gx", speedup) : absl::StrFormat("%.2fx", speedup);
}

std::string StepBottleneck(const CampaignPlan& plan, const std::map<std::string, double>& row,
                           const std::string& computing) {
  struct WaitKind {
    const char* key;
    const char* name;
    const char* setting;
  };
  const bool remote = plan.campaign.has_cluster();
  const WaitKind waits[] = {
      {"profile/wait_rewards_s", "waiting for rewards",
       remote
           ? "more hosts in cluster.workers, or more slots of a worker (whet-worker --slots), "
             "measure more candidates at a time"
           : "workers on cores of their own (a campaign with 'cluster') measure while the trainer "
             "computes"},
      {"profile/communication_s", "communication with the trainer",
       remote
           ? "a nearer host in cluster.trainer, or a smaller train.prompts_per_step, moves fewer "
             "bytes for a shorter way"
           : "a smaller train.prompts_per_step moves fewer bytes"}};
  const WaitKind* longest_wait = &waits[0];
  for (const WaitKind& wait : waits) {
    if (Get(row, wait.key) > Get(row, longest_wait->key)) longest_wait = &wait;
  }
  const double wait_s = Get(row, longest_wait->key);
  // `others` is what is no part of the trainer's work.
  const std::set<std::string> others = {"profile/computed_s", "profile/measure_machine_s",
                                        waits[0].key, waits[1].key};
  for (const auto& [key, value] : row) {
    const bool part =
        absl::StartsWith(key, "profile/") && absl::EndsWith(key, "_s") && others.count(key) == 0;
    if (part && value >= wait_s) return computing;
  }
  return absl::StrFormat("The longest part is %s (%.0f %% of the step): %s.", longest_wait->name,
                         100 * wait_s / std::max(Get(row, "time/step"), wait_s),
                         longest_wait->setting);
}

std::string RowJson(const v1::UpdateName& name, std::optional<int64_t> time_us,
                    const std::map<std::string, double>& row) {
  nlohmann::ordered_json json;
  json["step"] = name.step();
  json["phase"] = absl::AsciiStrToLower(v1::UpdateName::Phase_Name(name.phase()));
  if (time_us) json["unix_time"] = static_cast<double>(*time_us) / 1e6;
  for (const auto& [key, value] : row) {
    if (std::isfinite(value)) {
      json[key] = value;
    } else {
      json[key] = nullptr;  // JSON knows no infinity
    }
  }
  return json.dump();
}

}  // namespace whetstone
