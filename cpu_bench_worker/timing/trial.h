// One candidate against the reference: fresh process pairs, filled batches, judged rounds. The
// check stage and the time stage are written on top of this.
//
//   Trial trial(context, candidate_object, seed);
//   if (auto failure = trial.FreshPair({&batch})) …
//   if (auto failure = trial.Fill(key, FillStyle::kPlain, &batch)) …
//   Round round;
//   if (auto failure = trial.Play(batch, {.oracle = true}, &round)) …
//   round.right_calls == batch.calls();
//
// One thread at a time, pinned to the slot's timer core.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_TRIAL_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_TRIAL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpu_bench_worker/host/core_thread.h"
#include "cpu_bench_worker/kernel/bench_context.h"
#include "cpu_bench_worker/kernel/operator_program.h"
#include "cpu_bench_worker/problem/call_batch.h"
#include "cpu_bench_worker/timing/duel.h"
#include "cpu_bench_worker/verdict/failure.h"

namespace whetstone {

struct RoundOptions {
  bool candidate_first = false;
  // Expect the oracle's answer instead of the reference's (only where the problem has an oracle).
  bool oracle = false;
  bool judge = true;
};

struct Round {
  Turn reference;
  Turn candidate;
  int right_calls = 0;
  std::string first_bad;  // "n=17: c[3] is 7, expected 1.5"; empty when all are right
};

class Trial {
 public:
  Trial(const BenchContext& context, std::string candidate_object, uint64_t seed);

  // Ends the old pair and starts a new one whose regions hold any of `batches`, and gives large
  // inputs among them their place there; `urgent` when its time will count.
  std::optional<Failure> FreshPair(const std::vector<CallBatch*>& batches, bool urgent);
  // Fresh inputs from (the trial's seed, key), by fills and generator.
  std::optional<Failure> Fill(uint64_t key, FillStyle style, CallBatch* batch);
  // Both members compute `batch`.
  std::optional<Failure> Play(const CallBatch& batch, const RoundOptions& options, Round* round);
  // A bell without calls: what waking and answering costs `side`.
  std::optional<Failure> Floor(const CallBatch& batch, Side side, Turn* turn);

  const BenchContext& context() const { return context_; }
  const BenchProblem& problem() const { return *context_.problem; }
  uint64_t seed() const { return seed_; }
  // Time spent in turns and floors so far.
  double turns_s() const { return turns_s_; }
  bool cancelled() const { return context_.cancelled != nullptr && *context_.cancelled; }

 private:
  absl::StatusOr<OperatorProgram*> Program(const std::string& name,
                                           std::unique_ptr<OperatorProgram>* program);
  std::optional<Failure> Take(Side side, const CallBatch& batch, bool empty, Turn* turn,
                              std::string* outputs);
  std::optional<Failure> Judge(const CallBatch& batch, bool oracle, const std::string& reference,
                               const std::string& candidate, Round* round);

  BenchContext context_;
  std::string candidate_object_;
  uint64_t seed_;
  uint64_t pairs_started_ = 0;
  double turns_s_ = 0;
  std::unique_ptr<CoreThread> on_core_;
  std::unique_ptr<Duel> duel_;
  std::unique_ptr<OperatorProgram> oracle_;
  std::unique_ptr<OperatorProgram> generator_;
  std::unique_ptr<OperatorProgram> checker_;
};

// The outcome of a cancelled trial; measure.cc turns it into a status.
inline constexpr v1::Outcome kCancelledOutcome = v1::OUTCOME_UNSPECIFIED;

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_TRIAL_H_
