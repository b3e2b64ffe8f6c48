// One candidate against the reference: fresh process pairs, filled batches, judged samples. The
// check stage and the time stage are written on top of this.
//
//   Session session(context, candidate_object, seed);
//   if (auto failure = session.FreshProcessPair({&batch}, /*realtime=*/true)) …
//   if (auto failure = session.Fill(key, FillStyle::kPlain, &batch)) …
//   PairedSample sample;
//   if (auto failure = session.TakeSample(batch, {.oracle = true}, &sample)) …
//   sample.right_calls == batch.calls();
//
// One thread at a time, pinned to the slot's timer core.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_SESSION_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_SESSION_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpu_bench_worker/host/core_thread.h"
#include "cpu_bench_worker/kernel/bench_context.h"
#include "cpu_bench_worker/kernel/operator_program.h"
#include "cpu_bench_worker/problem/call_batch.h"
#include "cpu_bench_worker/timing/paired_run.h"
#include "cpu_bench_worker/verdict/failure.h"

namespace whetstone {

struct SampleOptions {
  bool candidate_first = false;
  // Expect the oracle's answer instead of the reference's (only where the problem has an oracle).
  bool oracle = false;
  bool judge = true;
};

struct PairedSample {
  Invocation reference;
  Invocation candidate;
  int right_calls = 0;
  std::string first_bad;  // "n=17: c[3] is 7, expected 1.5"; empty when all are right
};

class Session {
 public:
  // `candidate_s`: what the candidate's invocations have taken before, in other sessions.
  Session(const BenchContext& context, std::string candidate_object, uint64_t seed,
          double candidate_s = 0);

  // Ends the old pair and starts a new one whose regions hold any of `batches`, and gives large
  // inputs among them their place there; `realtime` when its time will count.
  std::optional<Failure> FreshProcessPair(const std::vector<CallBatch*>& batches, bool realtime);
  // Fills in fresh inputs from (the session's seed, key), by fills and generator.
  std::optional<Failure> Fill(uint64_t key, FillStyle style, CallBatch* batch);
  // Both members compute `batch`, one after the other. A candidate whose invocations have taken
  // limits.total_s together is a TIMEOUT (the reference against itself never is).
  std::optional<Failure> TakeSample(const CallBatch& batch, const SampleOptions& options,
                                    PairedSample* sample);
  // Makes a request without calls: what waking and responding costs `side`.
  std::optional<Failure> InvokeEmpty(const CallBatch& batch, Side side, Invocation* invocation);

  const BenchContext& context() const { return context_; }
  const BenchProblem& problem() const { return *context_.problem; }
  uint64_t seed() const { return seed_; }
  // Time spent in invocations so far, those without calls included.
  double invocations_s() const { return invocations_s_; }
  // Of that, and of what was before, the candidate's.
  double candidate_s() const { return candidate_s_; }
  bool cancelled() const { return context_.cancelled != nullptr && *context_.cancelled; }

 private:
  absl::StatusOr<OperatorProgram*> Program(const std::string& name,
                                           std::unique_ptr<OperatorProgram>* program);
  std::optional<Failure> Invoke(Side side, const CallBatch& batch, bool empty,
                                Invocation* invocation, std::string* outputs);
  std::optional<Failure> Judge(const CallBatch& batch, bool oracle, const std::string& reference,
                               const std::string& candidate, PairedSample* sample);

  BenchContext context_;
  std::string candidate_object_;
  uint64_t seed_;
  uint64_t pairs_started_ = 0;
  double invocations_s_ = 0;
  double candidate_s_;
  std::unique_ptr<CoreThread> on_core_;
  std::unique_ptr<PairedRun> paired_run_;
  std::unique_ptr<OperatorProgram> oracle_;
  std::unique_ptr<OperatorProgram> generator_;
  std::unique_ptr<OperatorProgram> checker_;
};

// The outcome of a cancelled session; measure.cc turns it into a status.
inline constexpr v1::Outcome kCancelledOutcome = v1::OUTCOME_UNSPECIFIED;

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_SESSION_H_
