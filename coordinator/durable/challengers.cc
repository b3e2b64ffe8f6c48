#include "coordinator/durable/challengers.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace whetstone {
namespace {

// Returns what a program has to beat: the incumbent, or the reference where there is none.
double SpeedupToBeat(const DurableState& durable, const std::string& problem_id) {
  const auto incumbent = durable.incumbents().find(problem_id);
  return incumbent == durable.incumbents().end() ? 1 : incumbent->second.verdict.speedup();
}

}  // namespace

std::vector<Challenger> FindChallengers(const CampaignPlan& plan, const DurableState& durable) {
  const StepRecord& step = durable.open_steps().front();
  // `fastest` maps a problem's id to group and sample.
  std::map<std::string, std::pair<size_t, size_t>> fastest;
  const auto candidate = [&](const std::pair<size_t, size_t>& at) -> const CandidateRecord& {
    return step.groups[at.first].samples[at.second];
  };
  for (size_t g = 0; g < step.groups.size(); ++g) {
    const GroupRecord& group = step.groups[g];
    if (group.challenger_checked) continue;
    const std::string& id = plan.ProblemOf(step.step, static_cast<int>(g)).problem.id();
    double bar = SpeedupToBeat(durable, id);
    if (const auto found = fastest.find(id); found != fastest.end()) {
      bar = std::max(bar, candidate(found->second).verdict->verdict.speedup());
    }
    for (size_t s = 0; s < group.samples.size(); ++s) {
      const v1::Verdict& verdict = group.samples[s].verdict->verdict;
      if (!group.samples[s].source || !ClearlyFaster(verdict, bar)) continue;
      bar = verdict.speedup();
      fastest[id] = {g, s};
    }
  }
  std::vector<Challenger> challengers;
  for (const auto& [id, at] : fastest) {
    challengers.push_back(
        {static_cast<int>(at.first), static_cast<int>(at.second), *candidate(at).source});
  }
  return challengers;
}

IncumbentEntry JudgeChallenger(const CampaignPlan& plan, const DurableState& durable, int64_t step,
                               const Challenger& challenger, const v1::Verdict& verdict) {
  IncumbentEntry entry;
  entry.step = step;
  entry.group_index = challenger.group_index;
  entry.sample = challenger.sample;
  entry.problem_id = plan.ProblemOf(step, challenger.group_index).problem.id();
  entry.source = challenger.source;
  entry.verdict = verdict;
  entry.accepted = verdict.outcome() == v1::CORRECT &&
                   verdict.speedup() > SpeedupToBeat(durable, entry.problem_id) &&
                   verdict.speedup_low() > 1;
  return entry;
}

}  // namespace whetstone
