#include "cpu_bench_worker/timing/paired_run.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/philox.h"
#include "cpu_bench_worker/host/raw_clock.h"
#include "cpu_bench_worker/problem/arguments.h"

namespace whetstone {
namespace {

// A child that is still awake this long after its response isn't waiting for a core any more.
constexpr double kSleepDeadlineNs = 500e6;
// An honest child needs about 2 µs from its response into the futex; the first snapshot takes
// longer.
constexpr double kGraceNs = 3'000;
// Waiting for a core longer than this, or than a fiftieth of the invocation, spoils it.
constexpr double kWaitedNsMin = 20'000;
constexpr double kBatchSlackSeconds = 2;
constexpr std::array<Side, 2> kBoth = {Side::kReference, Side::kCandidate};

void SpinNs(double ns) {
  const uint64_t end = RawNowNs() + static_cast<uint64_t>(ns);
  while (RawNowNs() < end) {
  }
}

// Reads a byte of every cache line: they lie in this core's own caches then, as far as they fit.
void ReadLines(const char* data, size_t bytes) {
  constexpr size_t kLineBytes = 64;
  const volatile char* const at = data;
  for (size_t i = 0; i < bytes; i += kLineBytes) static_cast<void>(at[i]);
  if (bytes > 0) static_cast<void>(at[bytes - 1]);
}

std::string Doing(const CallBatch* batch) {
  return batch == nullptr ? "being loaded"
                          : absl::StrCat("computing ", SizeText(batch->shape().size));
}

}  // namespace

std::optional<Failure> PairedRun::Start(const PairedRunSpec& spec,
                                        std::unique_ptr<PairedRun>* run) {
  std::unique_ptr<PairedRun> self(new PairedRun(spec));
  absl::StatusOr<SharedRegion> inputs = SharedRegion::Make(
      "inputs", spec.input_bytes, SharedRegion::Access::kReadOnly, spec.context.cores.node);
  if (!inputs.ok()) return OurFault(inputs.status());
  self->inputs_ = std::move(*inputs);
  for (const Side side : kBoth)
    if (auto failure = self->StartOne(side)) return failure;
  for (const Side side : kBoth) {
    const WaitResult waited = self->process(side).AwaitReady(kLoadDeadline);
    if (waited != WaitResult::kResponded)
      return self->Ended(side, waited, Doing(nullptr),
                         std::chrono::duration<double>(kLoadDeadline).count());
  }
  if (spec.realtime)
    for (const auto& process : self->processes_) process->SetRealtimePriority();
  for (const Side side : kBoth)
    if (auto failure = self->AwaitAsleep(side, nullptr, &self->resting(side))) return failure;
  *run = std::move(self);
  return std::nullopt;
}

PairedRun::~PairedRun() {
  if (spec_.on_core != nullptr) spec_.on_core->Await();
}

std::optional<Failure> PairedRun::StartOne(Side side) {
  const BenchProblem& problem = *spec_.context.problem;
  KernelSpec kernel;
  kernel.kernel_binary = spec_.context.kernel_binary;
  kernel.object = side == Side::kReference ? problem.reference_object : spec_.candidate_object;
  kernel.words_per_call =
      WordsOf(problem.arguments, problem.check.empty() ? problem.timed[0] : problem.check[0],
              CallRole::kKernel)
          .size();
  kernel.calls_max = spec_.calls_max;
  kernel.inputs = &inputs_;
  kernel.output_bytes = spec_.output_bytes;
  kernel.address_shift = 4096 * Philox(spec_.seed, {0xADD2, 0, 0, 0}).Below(1 << 16);
  kernel.cores = spec_.context.cores.kernel;
  kernel.node = spec_.context.cores.node;
  kernel.threads = problem.problem.compile().threads();
  kernel.memory_bytes = problem.problem.limits().memory_mb() << 20;
  kernel.life = std::chrono::milliseconds(
      static_cast<int64_t>(1000 * (2 * problem.problem.limits().total_s() + 30)));
  kernel.spin = spec_.context.cores.apart;
  auto process = KernelProcess::Start(kernel);
  if (!process.ok()) return OurFault(process.status());
  processes_[static_cast<size_t>(side)] = std::move(*process);
  return std::nullopt;
}

Failure PairedRun::Ended(Side side, WaitResult waited, const std::string& doing,
                         double deadline_s) {
  Failure failure{v1::TIMEOUT, absl::StrCat("took over ", deadline_s, " s ", doing)};
  if (waited == WaitResult::kEnded) {
    absl::StatusOr<SandboxResult> result = process(side).End();
    if (!result.ok()) return OurFault(result.status());
    failure = FailureOfEnd(*result, doing);
  }
  if (side == Side::kReference)
    return OurFault(
        ProblemStatus(failure.hosts, absl::StrCat("the problem's reference ", failure.detail)));
  return failure;
}

std::optional<Failure> PairedRun::AwaitAsleep(Side side, const CallBatch* batch,
                                              ProcessSnapshot* resting) {
  const uint64_t begin = RawNowNs();
  const auto threads_max =
      static_cast<size_t>(std::max(1, spec_.context.problem->problem.compile().threads()));
  for (;;) {
    ProcessSnapshot view = process(side).monitor().FullSnapshot();
    if (!view.alive) return Ended(side, WaitResult::kEnded, Doing(batch), 0);
    if (side == Side::kCandidate && threads_max == 1 && view.threads.size() > 1)
      return Failure{v1::FORBIDDEN, absl::StrCat("started ", view.threads.size() - 1,
                                                 " extra threads; the problem allows none")};
    if (view.asleep && view.SettledSince(*resting)) {
      // This takes a second snapshot, because only of a sleeper is the time it ran exact.
      ProcessSnapshot again = process(side).monitor().FullSnapshot();
      if (again.SameRuns(view)) {
        *resting = std::move(again);
        return std::nullopt;
      }
    }
    if (static_cast<double>(RawNowNs() - begin) > kSleepDeadlineNs) break;
  }
  if (side == Side::kReference)
    return OurFault(
        absl::InvalidArgumentError("the reference did not go to sleep after its response"));
  return Failure{v1::FORBIDDEN,
                 absl::StrCat("kept computing after it had returned from ", Doing(batch))};
}

bool PairedRun::Rests(Side side) const {
  const ProcessSnapshot now = process(side).monitor().Snapshot();
  return now.alive && now.asleep && now.SameRuns(resting_[static_cast<size_t>(side)]);
}

Failure PairedRun::WasAwake(Side side, const CallBatch& batch) {
  if (!process(side).monitor().Snapshot().alive)
    return Ended(side, WaitResult::kEnded, Doing(&batch), 0);
  if (side == Side::kReference)
    return OurFault(absl::InvalidArgumentError("the reference ran between calls"));
  return Failure{v1::FORBIDDEN, "ran between calls, when it should have slept"};
}

std::optional<Side> PairedRun::Write(Side side, const CallBatch& batch) {
  for (const Side who : kBoth)
    if (!Rests(who)) return who;
  if (!batch.in_place() && batch.input_bytes() > 0)
    std::memcpy(inputs_.data() + batch.input_offset(), batch.inputs(), batch.input_bytes());
  process(side).Load(batch, batch.input_offset(), batch.output_offset());
  // A long copy may go past the own caches of the core, into one that strangers share.
  if (spec_.on_core != nullptr && !batch.in_place()) {
    ReadLines(process(side).outputs() + batch.output_offset(), batch.outputs().size());
    ReadLines(inputs_.data() + batch.input_offset(), batch.input_bytes());
  }
  for (const Side who : kBoth)
    if (!Rests(who)) return who;
  return std::nullopt;
}

std::optional<Failure> PairedRun::WriteAndPost(Side side, const CallBatch& batch, int calls) {
  KernelProcess* const child = &process(side);
  std::optional<Side> awake;
  std::atomic<bool> posted{false};
  const auto write_and_post = [this, side, &batch, calls, child, &awake, &posted] {
    awake = Write(side, batch);
    if (awake.has_value()) return;
    child->PostRequest(calls);
    // From here on only `child` may be used: whoever waits for the request goes on.
    posted.store(true, std::memory_order_release);
    child->Wake();
  };
  if (spec_.on_core == nullptr) {
    write_and_post();
  } else {
    spec_.on_core->Begin(write_and_post);
    while (!posted.load(std::memory_order_acquire) && !spec_.on_core->Through()) {
    }
  }
  if (awake.has_value()) return WasAwake(*awake, batch);
  return std::nullopt;
}

std::optional<Failure> PairedRun::Invoke(Side side, const CallBatch& batch, bool empty,
                                         Invocation* invocation, std::string* outputs) {
  const Side other = side == Side::kReference ? Side::kCandidate : Side::kReference;
  // Batches of several calls are made of short ones: a hang needn't cost a limit for each.
  const double run_s = spec_.context.problem->problem.limits().run_s();
  const double deadline_s = (side == Side::kReference ? 4 : 1) *
                            std::min(run_s * batch.calls() + 0.05, run_s + kBatchSlackSeconds);
  const OwnRuns own_runs;
  const uint64_t own_before = own_runs.Count();
  if (auto failure = WriteAndPost(side, batch, empty ? 0 : batch.calls())) return failure;
  const WaitResult waited = process(side).AwaitResponse(
      std::chrono::nanoseconds(static_cast<int64_t>(deadline_s * 1e9)), &invocation->ns);
  const bool timer_preempted = spec_.context.cores.apart && own_runs.Count() != own_before;
  if (waited != WaitResult::kResponded) return Ended(side, waited, Doing(&batch), deadline_s);

  SpinNs(kGraceNs);
  const ProcessSnapshot before = resting(side);
  // It is late if it is not asleep yet or not even woken: a response may stand there before the
  // request.
  const ProcessSnapshot first = process(side).monitor().Snapshot();
  const bool late = !first.asleep || first.SameRuns(before);
  if (auto failure = AwaitAsleep(side, &batch, &resting(side))) return failure;
  // The time until it sleeps is its own.
  if (late) invocation->ns = process(side).SinceRequestNs();
  const ProcessSnapshot& now = resting(side);
  invocation->cpu_ns = static_cast<double>(now.ran_ns - before.ran_ns);
  invocation->thread_ns = static_cast<double>(now.LongestRunSince(before));
  invocation->waited_ns = static_cast<double>(now.waited_ns - before.waited_ns);
  const bool threaded = spec_.context.problem->threaded();
  // Several threads sleep while they wait for each other, and wait for cores that others of them
  // have: neither tells who disturbed whom. One thread sleeps once, at the end.
  invocation->napped = !threaded && now.SleepsSince(before) > 1;
  const bool waited_long = invocation->waited_ns > std::max(kWaitedNsMin, invocation->ns / 50);
  invocation->disturbed = timer_preempted || (waited_long && !threaded && !invocation->napped);
  if (!Rests(other)) return WasAwake(other, batch);
  if (outputs != nullptr) {
    outputs->assign(process(side).outputs() + batch.output_offset(), batch.outputs().size());
  }
  if (!Rests(side)) return WasAwake(side, batch);
  return std::nullopt;
}

}  // namespace whetstone
