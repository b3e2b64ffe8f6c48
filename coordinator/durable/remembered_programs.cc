#include "coordinator/durable/remembered_programs.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "common/sha256.h"

namespace whetstone {
namespace {

bool IsRight(const CandidateRecord& record) {
  return record.verdict && record.verdict->verdict.outcome() == v1::CORRECT;
}

// A completion that was cut off holds the program, and then what nobody should learn.
bool IsWorthRemembering(const CandidateRecord& record, double from_speedup) {
  return IsRight(record) && record.verdict->verdict.speedup() >= from_speedup &&
         record.completion->finish() == v1::Completion::STOP;
}

}  // namespace

std::string ProgramHash(const CandidateRecord& record) {
  const std::string& canonical = record.verdict->verdict.canonical_hash();
  return canonical.empty() ? Sha256Hex(record.source.value_or("")) : canonical;
}

void Remember(const CampaignPlan& plan, const StepRecord& step, ProgramMemory* memory) {
  const v1::ImitationConfig& config = plan.campaign.train().imitation();
  if (config.size() == 0) return;
  for (size_t g = 0; g < step.groups.size(); ++g) {
    const int group_index = static_cast<int>(g);
    if (step.groups[g].parent) continue;
    for (const CandidateRecord& record : step.groups[g].samples) {
      if (!IsWorthRemembering(record, config.from_speedup())) continue;
      std::vector<RememberedProgram>& programs =
          (*memory)[plan.ProblemOf(step.step, group_index).problem.id()];
      std::string hash = ProgramHash(record);
      if (std::any_of(programs.begin(), programs.end(),
                      [&](const RememberedProgram& known) { return known.hash == hash; })) {
        continue;
      }
      RememberedProgram program{step.step, group_index, std::move(hash),
                                record.verdict->verdict.speedup(), v1::Rollout()};
      program.rollout.set_sample(record.completion->sample());
      *program.rollout.mutable_ids() = record.completion->ids();
      *program.rollout.mutable_sampling_logprobs() = record.completion->sampling_logprobs();
      program.rollout.set_reward(record.verdict->reward);
      program.rollout.set_reward_error(record.verdict->verdict.reward_error());
      program.rollout.set_imitated(true);
      const auto slower = std::find_if(
          programs.begin(), programs.end(),
          [&](const RememberedProgram& other) { return other.speedup < program.speedup; });
      programs.insert(slower, std::move(program));
      if (programs.size() > static_cast<size_t>(config.size())) programs.pop_back();
    }
  }
}

std::vector<v1::Rollout> ImitatedRollouts(const CampaignPlan& plan, const ProgramMemory& memory,
                                          const StepRecord& step, int group_index) {
  std::vector<v1::Rollout> rollouts;
  if (step.groups[static_cast<size_t>(group_index)].parent) return rollouts;
  const auto programs = memory.find(plan.ProblemOf(step.step, group_index).problem.id());
  if (programs == memory.end()) return rollouts;
  std::set<std::string> own;
  double sum = 0;
  int kept = 0;
  const std::vector<CandidateRecord>& samples =
      step.groups[static_cast<size_t>(group_index)].samples;
  for (const CandidateRecord& record : samples) {
    if (IsRight(record)) own.insert(ProgramHash(record));
    if (record.verdict->dropped) continue;
    sum += record.verdict->reward;
    ++kept;
  }
  if (kept == 0) return rollouts;
  for (const RememberedProgram& program : programs->second) {
    if (own.count(program.hash) > 0 || program.rollout.reward() <= sum / kept) continue;
    rollouts.push_back(program.rollout);
    // Their numbers follow those of the group's own.
    rollouts.back().set_sample(static_cast<int>(samples.size() + rollouts.size()) - 1);
  }
  return rollouts;
}

}  // namespace whetstone
