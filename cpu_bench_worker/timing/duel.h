// Reference and candidate, each in its own process on the same kernel cores, called in turns on the
// same inputs. The smallest unit of measuring: one Take is one member's turn.
//
// A turn, and what each step defeats:
//   1. neither ran since its own last turn      computing what another turn left in the inputs
//   2. inputs, outputs and slots written (inputs in place: before both turns of a round)
//   3. neither ran since 1                      computing while inputs are being written
//   4. bell, clock until the answer
//   5. the member asleep (charged if late, and  an answer given before the work is done
//      for the processor time it took)
//   6. the other one never ran                  slowing down the reference
//   7. outputs copied once, member never ran    outputs finished while they are read
//
// So from the answer of one turn of its own to the bell of the next, a child runs not once.
//
// Steps 1 to 3 and the bell are done by a thread on the kernel's own core: what a kernel reads and
// writes then lies in that core's caches (inputs in place excepted) instead of on its way from
// another core's, and the child need not be woken from afar. Both halve the scatter of a small
// kernel's time. Several threads on several cores gain nothing by that, and the timer rings for
// them.
//
// One thread at a time, pinned by the caller to the slot's timer core.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_DUEL_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_DUEL_H_

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "cpu_bench_worker/host/core_thread.h"
#include "cpu_bench_worker/kernel/bench_context.h"
#include "cpu_bench_worker/kernel/kernel_process.h"
#include "cpu_bench_worker/problem/call_batch.h"
#include "cpu_bench_worker/verdict/failure.h"

namespace whetstone {

enum class Side { kReference = 0, kCandidate = 1 };

struct DuelSpec {
  BenchContext context;
  std::string candidate_object;
  size_t input_bytes = 0;  // of the whole region
  size_t output_bytes = 0;
  int calls_max = 1;
  uint64_t seed = 0;    // address space placement
  bool urgent = false;  // real-time priority for both, once loaded
  // On the kernel's core, borrowed; null: the timer writes and rings.
  CoreThread* on_core = nullptr;
};

struct Turn {
  double ns = 0;           // from the bell to the answer, harness floor included
  double cpu_ns = 0;       // processor time from waking to sleeping again, all threads
  double waited_ns = 0;    // of `ns`: runnable, but something else ran on its core
  bool disturbed = false;  // something else ran on one of the slot's cores meanwhile

  // Time that passed while it neither ran nor waited for a core: waking it, and what the hypervisor
  // stole. Only of one thread; several spend more processor time than passes.
  double LostNs() const { return ns - waited_ns - cpu_ns; }
};

class Duel {
 public:
  // Starts both processes and waits until they are loaded. A Failure of the candidate is its own;
  // everything else is INFRASTRUCTURE_ERROR.
  static std::optional<Failure> Start(const DuelSpec& spec, std::unique_ptr<Duel>* duel);
  ~Duel();

  // For CallBatch::PlaceInputs; may be written while both sleep, which the next turn verifies.
  char* inputs() const { return inputs_.data(); }

  // One turn of `side` on all calls of `batch`, or, with `empty`, a bell without calls (the harness
  // floor: waking, answering). `outputs` (may be null) gets the output region afterwards.
  std::optional<Failure> Take(Side side, const CallBatch& batch, bool empty, Turn* turn,
                              std::string* outputs);

 private:
  explicit Duel(const DuelSpec& spec) : spec_(spec) {}
  std::optional<Failure> StartOne(Side side);
  // Looks until `side` sleeps for good, after loading and after a turn of its own. *resting is how
  // it slept before, and then how it does now.
  std::optional<Failure> AwaitAsleep(Side side, const CallBatch* batch, ProcessView* resting);
  // Steps 1 to 3 and the bell.
  std::optional<Failure> WriteAndRing(Side side, const CallBatch& batch, int calls);
  // Steps 1 to 3; who did not rest, if one did not.
  std::optional<Side> Write(Side side, const CallBatch& batch);
  // Whether `side` still sleeps the sleep of resting(). One that woke and waits for its turn on the
  // core has not run, and does not.
  bool Rests(Side side) const;
  // What follows where it does not.
  Failure WasAwake(Side side, const CallBatch& batch);
  Failure Ended(Side side, Answer answer, const std::string& doing, double deadline_s);
  ProcessView& resting(Side side) { return resting_[static_cast<size_t>(side)]; }
  KernelProcess& process(Side side) { return *processes_[static_cast<size_t>(side)]; }
  const KernelProcess& process(Side side) const { return *processes_[static_cast<size_t>(side)]; }

  DuelSpec spec_;
  SharedRegion inputs_;
  std::array<std::unique_ptr<KernelProcess>, 2> processes_;
  std::array<ProcessView, 2> resting_;  // how each fell asleep when it was last allowed to run
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_DUEL_H_
