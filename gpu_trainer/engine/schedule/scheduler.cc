#include "gpu_trainer/engine/schedule/scheduler.h"

#include <algorithm>
#include <utility>

namespace whetstone {

Scheduler::Scheduler(const GenerateSpec& spec, int64_t context, int64_t slots)
    : spec_(spec), context_(context) {
  for (size_t g = 0; g < spec.groups.size(); ++g) {
    for (const int32_t sample : spec.groups[g].samples) waiting_.push_back({g, sample});
    unfinished_.push_back(static_cast<int32_t>(spec.groups[g].samples.size()));
  }
  for (int64_t i = slots; i-- > 0;) free_slots_.push_back(static_cast<int32_t>(i));
}

std::optional<Sequence> Scheduler::Admit() {
  if (waiting_.empty() || free_slots_.empty()) return std::nullopt;
  const Waiting next = waiting_.front();
  waiting_.pop_front();
  const PromptGroupSpec& group = spec_.groups[next.group];
  Sequence sequence;
  sequence.group = next.group;
  sequence.slot = free_slots_.back();
  sequence.tokens_max = TokensMax(spec_.sampling, group, context_);
  sequence.result.group_index = group.group_index;
  sequence.result.sample = next.sample;
  free_slots_.pop_back();
  return sequence;
}

bool Scheduler::Finish(const Sequence& sequence) {
  free_slots_.push_back(sequence.slot);
  return --unfinished_[sequence.group] == 0;
}

void Scheduler::DropEnded() {
  active_.erase(std::remove_if(active_.begin(), active_.end(),
                               [](const Sequence& sequence) { return sequence.ended; }),
                active_.end());
}

}  // namespace whetstone
