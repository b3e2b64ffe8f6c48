#include "coordinator/step_record.h"

namespace whetstone {

StepRecord::StepRecord(int64_t step, int groups, int group_size)
    : step(step), groups(static_cast<size_t>(groups)) {
  for (GroupRecord& group : this->groups) group.samples.resize(static_cast<size_t>(group_size));
}

bool StepRecord::HasAllRollouts() const {
  return prompts == static_cast<int>(groups.size()) && rollouts == wanted();
}

bool StepRecord::HasAllVerdicts() const { return verdicts == wanted(); }

}  // namespace whetstone
