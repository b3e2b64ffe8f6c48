#include "coordinator/durable/step_record.h"

#include <algorithm>

namespace whetstone {

// Rewards are compared exactly, as the learner does.
bool GroupRecord::HasSpread() const {
  const VerdictEntry* first = nullptr;
  for (const CandidateRecord& record : samples) {
    if (record.verdict->dropped) continue;
    if (first == nullptr) first = &*record.verdict;
    if (record.verdict->reward != first->reward) return true;
  }
  return false;
}

StepRecord::StepRecord(int64_t step, int groups, int group_size)
    : step(step), groups(static_cast<size_t>(groups)) {
  for (GroupRecord& group : this->groups) group.samples.resize(static_cast<size_t>(group_size));
}

bool StepRecord::HasRollouts(size_t count) const {
  const int wanted = static_cast<int>(count);
  return prompts >= wanted && rollouts >= wanted * group_size();
}

bool StepRecord::HasAllVerdicts() const {
  return verdicts == static_cast<int>(groups.size()) * group_size();
}

bool StepRecord::Sampling() const {
  return rollouts > static_cast<int>(round_begin) * group_size() && !HasAllRollouts();
}

void StepRecord::Refill(int count) {
  ++refills;
  round_begin = groups.size();
  const size_t samples = groups[0].samples.size();
  groups.resize(groups.size() + static_cast<size_t>(count));
  for (size_t g = round_begin; g < groups.size(); ++g) groups[g].samples.resize(samples);
}

int StepRecord::Informative() const {
  return static_cast<int>(std::count_if(
      groups.begin(), groups.end(), [](const GroupRecord& group) { return group.HasSpread(); }));
}

}  // namespace whetstone
