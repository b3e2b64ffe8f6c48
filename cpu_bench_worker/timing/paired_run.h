// One process pair: reference and candidate, each in its own process on the same kernel cores,
// invoked alternately on the same inputs. An invocation, one member computing one batch, is the
// smallest unit of measuring.
//
// An invocation, and what each step defeats:
//   1. neither ran since its last invocation    computing what another one left in the inputs
//   2. inputs, outputs and call table written (inputs in place: before both of a sample)
//   3. neither ran since 1                      computing while inputs are being written
//   4. request, clock until the response
//   5. the member asleep (charged if late, and  a response given before the work is done
//      for the processor time it took)
//   6. the other one never ran                  slowing down the reference
//   7. outputs copied once, member never ran    outputs finished while they are read
//
// So from the response of one invocation of its own to the request of the next, a child runs not
// once.
//
// Steps 1 to 3 and the request are done by a thread on the kernel's own core: what a kernel reads
// and writes then lies in that core's caches (inputs in place excepted) instead of on its way from
// another core's, and the child need not be woken from afar. Both halve the scatter of a small
// kernel's time. Several threads on several cores gain nothing by that, and the timer posts their
// requests.
//
// One thread at a time, pinned by the caller to the slot's timer core.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_PAIRED_RUN_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_PAIRED_RUN_H_

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

struct PairedRunSpec {
  BenchContext context;
  std::string candidate_object;
  size_t input_bytes = 0;  // of the whole region
  size_t output_bytes = 0;
  int calls_max = 1;
  uint64_t seed = 0;      // address space placement
  bool realtime = false;  // real-time priority for both, once loaded
  // The thread on the kernel's core, borrowed; null: the timer writes and posts.
  CoreThread* on_core = nullptr;
};

struct Invocation {
  double ns = 0;           // from the request to the response, harness floor included
  double cpu_ns = 0;       // processor time from waking to sleeping again, all threads
  double thread_ns = 0;    // the same of the thread with the most
  double waited_ns = 0;    // of `ns`: runnable, but something else ran on its core
  bool disturbed = false;  // something else ran on one of the slot's cores meanwhile
  // It slept before it was done. What passed meanwhile is its own, whoever ran then: otherwise who
  // does not like an invocation has it taken again by a nap.
  bool napped = false;

  // Time that passed while it neither ran nor waited for a core: waking it, and what the hypervisor
  // stole. Only of one thread that did not nap; several spend more processor time than passes.
  double LostNs() const { return ns - waited_ns - cpu_ns; }
};

class PairedRun {
 public:
  // Starts both processes and waits until they are loaded. A Failure of the candidate is its own;
  // everything else is INFRASTRUCTURE_ERROR.
  static std::optional<Failure> Start(const PairedRunSpec& spec, std::unique_ptr<PairedRun>* run);
  ~PairedRun();

  // These are for CallBatch::PlaceInputs; they may be written while both sleep, which the next
  // invocation verifies.
  char* inputs() const { return inputs_.data(); }

  // Lets `side` compute all calls of `batch`, or, with `empty`, respond to a request without calls
  // (the harness floor: waking, responding). `outputs` (may be null) gets the output region
  // afterwards.
  std::optional<Failure> Invoke(Side side, const CallBatch& batch, bool empty,
                                Invocation* invocation, std::string* outputs);

 private:
  explicit PairedRun(const PairedRunSpec& spec) : spec_(spec) {}
  std::optional<Failure> StartOne(Side side);
  // Waits until `side` sleeps for good, after loading and after an invocation of its own. *resting
  // is how it slept before, and then how it does now.
  std::optional<Failure> AwaitAsleep(Side side, const CallBatch* batch, ProcessSnapshot* resting);
  // Does steps 1 to 3 and posts the request.
  std::optional<Failure> WriteAndPost(Side side, const CallBatch& batch, int calls);
  // Does steps 1 to 3; returns who did not rest, if one did not.
  std::optional<Side> Write(Side side, const CallBatch& batch);
  // Whether `side` still sleeps the sleep of resting(). One that woke and waits for the core has
  // not run, and does not.
  bool Rests(Side side) const;
  // Returns the failure that follows where it does not.
  Failure WasAwake(Side side, const CallBatch& batch);
  Failure Ended(Side side, WaitResult waited, const std::string& doing, double deadline_s);
  ProcessSnapshot& resting(Side side) { return resting_[static_cast<size_t>(side)]; }
  KernelProcess& process(Side side) { return *processes_[static_cast<size_t>(side)]; }
  const KernelProcess& process(Side side) const { return *processes_[static_cast<size_t>(side)]; }

  PairedRunSpec spec_;
  SharedRegion inputs_;
  std::array<std::unique_ptr<KernelProcess>, 2> processes_;
  std::array<ProcessSnapshot, 2> resting_;  // how each fell asleep when it was last allowed to run
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_PAIRED_RUN_H_
