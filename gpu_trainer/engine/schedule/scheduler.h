// Says which sequences decode (continuous batching): they wait in the order in which they were
// asked for, are admitted while a slot of the KV cache is free, and give the slot to the next when
// they end.
//
//   Scheduler scheduler(spec, config.context, plan.slots);
//   while (std::optional<Sequence> sequence = scheduler.Admit()) {
//     … its first token, from its prompt's logits …
//     sequence->ended ? scheduler.Finish(*sequence) : scheduler.Start(*std::move(sequence));
//   }
//   for (Sequence& sequence : scheduler.active()) { … its next tokens … }
//   scheduler.DropEnded();
//
// It knows neither a tensor nor a token. Not thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_SCHEDULE_SCHEDULER_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_SCHEDULE_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "gpu_trainer/engine/request/generate_spec.h"
#include "gpu_trainer/engine/schedule/sequence.h"

namespace whetstone {

class Scheduler {
 public:
  // Queues every sample of `spec`, which is borrowed. `context` is the positions of the model,
  // `slots` the sequences that may decode together (kv_plan.h).
  Scheduler(const GenerateSpec& spec, int64_t context, int64_t slots);

  // Returns the next waiting sequence, which holds a slot from now on; nullopt if none waits, or no
  // slot is free.
  std::optional<Sequence> Admit();
  // Lets an admitted sequence decode.
  void Start(Sequence sequence) { active_.push_back(std::move(sequence)); }
  // Frees the slot of an admitted sequence that has ended. Returns whether it was the last of its
  // group, whose prompt nobody needs any more.
  bool Finish(const Sequence& sequence);
  // Forgets the sequences of active() that have ended.
  void DropEnded();

  // Returns the sequences that decode. Samples of one group are neighbours.
  std::vector<Sequence>& active() { return active_; }

 private:
  struct Waiting {
    size_t group;
    int32_t sample;
  };

  const GenerateSpec& spec_;
  const int64_t context_;
  std::deque<Waiting> waiting_;
  std::vector<Sequence> active_;
  std::vector<int32_t> free_slots_;
  std::vector<int32_t> unfinished_;  // By group.
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_SCHEDULE_SCHEDULER_H_
