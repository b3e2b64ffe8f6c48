// This is how a candidate becomes a verdict, and where each step is:
//
//   Measure             idempotence by candidate id                           this file
//   ├ BuildCache        what equal sources became                             build_cache.cc
//   ├ VerdictCache      what equal machine code reached                       verdict_cache.cc
//   └ Pipeline          the stages in order, the outlier check at their end   pipeline.cc
//     ├ ScreenClient    clang reads the source in a sandboxed, forked child   screen/
//     ├ Compiler        meanwhile g++, in its sandbox, precompiled headers    build/
//     ├ CheckCandidate  check sizes: plain, unaligned, edge values            check_stage.cc
//     ├ TimeCandidate   16 fresh process pairs × 8 samples unless clear, or   time_stage.cc
//     │                 below what is asked for, before (stopping.h); more
//     │                 beside a neighbour on the same physical core, or for
//     │                 precision (plan.h)
//     │ └ Session       fills inputs, takes samples, compares outputs         session.cc
//     │   └ PairedRun   one invocation: who may run when, what is timed       paired_run.cc
//     │     └ KernelProcess   one sandboxed child behind a mailbox            kernel/
//     └ HostPeak        what no honest program can beat                       host_peak.cc
//
// Cores are handed out by SlotPool: a slot is a timer core, where this process fills inputs and
// spins, and kernel cores, where both children of a PairedRun alternate and a thread of this
// process hands them their inputs. On a host without cores to spare, nobody compiles while somebody
// times.
#include "cpu_bench_worker/measure/measure.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/host.h"
#include "common/problem/problem_hash.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/measure/build_cache.h"
#include "cpu_bench_worker/measure/calibrate.h"
#include "cpu_bench_worker/measure/pipeline.h"
#include "cpu_bench_worker/measure/recently_used.h"
#include "cpu_bench_worker/measure/slot_aa_thresholds.h"
#include "cpu_bench_worker/measure/verdict_cache.h"
#include "cpu_bench_worker/measure/worker_info.h"
#include "sandbox/sandbox.h"

namespace whetstone {
namespace {

// So many candidates are remembered for repeated calls, and verdicts for equal machine
// code.
constexpr size_t kRememberedMax = 2048;
// What a policy writes has some kilobytes; an answer is remembered by its id.
constexpr size_t kSourceBytesMax = size_t{1} << 20;
constexpr size_t kNameBytesMax = 1024;
// Some megabytes each, most of it their headers', which problems share.
constexpr size_t kProblemsMax = 1024;
constexpr size_t kBuildCacheBytes = size_t{8} << 20;

// Entry is one candidate id. The registry's mutex guards it, except while `running`, when the one
// thread that runs it owns `artefact`.
struct Entry {
  std::string problem_hash;
  std::string source_hash;
  bool running = false;
  bool built = false;
  Artefact artefact;
  std::atomic<bool> cancelled{false};
};

class MeasurerImpl final : public Measurer {
 public:
  explicit MeasurerImpl(TempDir dir) : dir_(std::move(dir)) {}
  ~MeasurerImpl() override {
    stopping_ = true;
    if (slots_ != nullptr) slots_->Notify();
    for (std::thread& thread : at_start_) thread.join();
  }

  absl::Status Start(const MeasurerOptions& options);
  absl::StatusOr<v1::Calibration> PutProblem(const v1::Problem& problem,
                                             const v1::Calibration* known) override;
  absl::StatusOr<v1::Verdict> Measure(const v1::MeasureRequest& request) override;
  void Cancel(const std::vector<std::string>& candidate_ids) override;
  v1::WorkerInfo Info() override;

 private:
  // PutProblem, but that what it says counts only if the folder is whole.
  absl::StatusOr<v1::Calibration> Take(const v1::Problem& problem, const std::string& hash,
                                       const v1::Calibration* known);
  // Says whether all that was compiled is where it was: `whole` is so of problems. What was
  // compiled or measured without it may be wrong in any way. UNAVAILABLE, and options.broken.
  absl::Status CheckFolder(absl::Status whole);
  absl::Status End() {
    const std::lock_guard<std::mutex> lock(end_mutex_);
    return end_;
  }
  // Runs the stages that are missing; on return the entry's artefact is as far as asked.
  absl::Status Run(const PreparedProblem& problem, const v1::MeasureRequest& request, Entry* entry);
  // Notes where and from which inputs the verdict comes.
  void SetOrigin(const PreparedProblem& problem, const SlotCores& cores, uint64_t seed,
                 v1::Verdict* verdict) const;

  TempDir dir_;
  std::function<void(const absl::Status&)> broken_;
  std::mutex end_mutex_;
  absl::Status end_;  // OK while everything is where it was; nothing counts from then on
  // A candidate that knew the seed could compute its answers while it is loaded; campaign seeds and
  // candidate ids can be guessed, and where its memory lies tells when a guess is right.
  uint64_t secret_ = 0;
  Isolation isolation_;
  std::unique_ptr<SlotPool> slots_;
  std::unique_ptr<Compiler> compiler_;
  std::unique_ptr<ScreenClient> screen_;
  std::unique_ptr<HostPeak> peak_;
  std::unique_ptr<Pipeline> pipeline_;
  v1::MeasuredOn host_;  // These fields are the same for every verdict.
  std::unique_ptr<SlotAaThresholds> slot_aa_;
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> at_start_;  // Each measures the A/A threshold of one slot.
  std::atomic<double> aa_threshold_{0};

  std::mutex put_mutex_;  // One problem is prepared at a time.
  std::mutex mutex_;
  std::condition_variable finished_;
  RecentlyUsed<const PreparedProblem> problems_{kProblemsMax};  // by hash
  RecentlyUsed<Entry> entries_{kRememberedMax};                 // by candidate id
  BuildCache builds_{kBuildCacheBytes};
  VerdictCache verdicts_{kRememberedMax};
};

absl::Status MeasurerImpl::Start(const MeasurerOptions& options) {
  broken_ = options.broken;
  std::string bin = options.bin_dir;
  if (bin.empty()) {
    char self[4096];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self);
    if (n <= 0) return absl::FailedPreconditionError("cannot read /proc/self/exe; is /proc there?");
    bin.assign(self, static_cast<size_t>(n));
    bin.resize(bin.rfind('/'));
  }
  const std::string kernel = bin + "/whet-kernel";
  if (access(kernel.c_str(), X_OK) != 0)
    return absl::FailedPreconditionError(
        absl::StrCat(kernel, " is missing; install it beside whet-worker"));
  if (getrandom(&secret_, sizeof secret_, 0) != sizeof secret_)
    return absl::InternalError("the kernel gave no random bytes (getrandom)");
  ASSIGN_OR_RETURN(isolation_, Sandbox::Probe());
  host_.set_cpu_model(CpuModel());
  host_.set_microcode(Microcode());
  host_.set_kernel(KernelRelease());
  ASSIGN_OR_RETURN(const std::vector<NumaNode> nodes,
                   GroupByNumaNode(options.cores.empty() ? AllowedCores() : options.cores));
  ASSIGN_OR_RETURN(CorePlan plan, PlanCores(nodes, options.slots));
  const std::vector<int> build = plan.build;
  slots_ = std::make_unique<SlotPool>(std::move(plan));
  ASSIGN_OR_RETURN(compiler_, Compiler::Create(dir_.path(), build));
  if (options.screen) {
    ASSIGN_OR_RETURN(
        screen_, ScreenClient::Create(bin, build, static_cast<int>(slots_->plan().slots.size())));
  }
  ASSIGN_OR_RETURN(peak_, HostPeak::Create(compiler_.get(), kernel, dir_.path()));
  pipeline_ = std::make_unique<Pipeline>(compiler_.get(), screen_.get(), slots_.get(), peak_.get(),
                                         kernel, dir_.path());
  const size_t slots = slots_->plan().slots.size();
  slot_aa_ = std::make_unique<SlotAaThresholds>(pipeline_.get(), compiler_.get(), dir_.path(),
                                                slots, options.aa_interval);
  if (!options.aa_at_start) return absl::OkStatus();
  // All leases are taken first, so that each thread gets another slot.
  for (size_t i = 0; i < slots; ++i) {
    ASSIGN_OR_RETURN(SlotPool::Lease lease, slots_->Acquire(1, nullptr));
    at_start_.emplace_back([this, lease = std::move(lease)]() mutable {
      // Where this fails, so does the first candidate on the slot, and that says why.
      slot_aa_->Current(&lease, &stopping_).IgnoreError();
      lease = SlotPool::Lease();
    });
  }
  return absl::OkStatus();
}

absl::Status MeasurerImpl::CheckFolder(absl::Status whole) {
  whole.Update(peak_->Check());
  whole.Update(slot_aa_->Check());
  if (const absl::Status all = dir_.Check(); !all.ok()) whole = all;
  const std::lock_guard<std::mutex> lock(end_mutex_);
  if (whole.ok() || !end_.ok()) return end_;
  end_ = absl::UnavailableError(
      absl::StrCat(whole.message(), ", which this worker needs: it must be started again"));
  if (broken_) broken_(end_);
  return end_;
}

absl::StatusOr<v1::Calibration> MeasurerImpl::PutProblem(const v1::Problem& problem,
                                                         const v1::Calibration* known) {
  RETURN_IF_ERROR(slots_->Fits(problem.compile().threads()));
  const std::string hash = ProblemHash(problem);
  const std::lock_guard<std::mutex> put_lock(put_mutex_);
  RETURN_IF_ERROR(End());
  absl::StatusOr<v1::Calibration> calibration = Take(problem, hash, known);
  absl::Status whole = compiler_->Check();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto taken = problems_.Find(hash)) whole.Update(taken->Check());
  }
  RETURN_IF_ERROR(CheckFolder(whole));
  return calibration;
}

absl::StatusOr<v1::Calibration> MeasurerImpl::Take(const v1::Problem& problem,
                                                   const std::string& hash,
                                                   const v1::Calibration* known) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto known_here = problems_.Find(hash)) return known_here->calibration;
  }
  std::unique_ptr<PreparedProblem> prepared;
  {
    const SlotPool::BuildLease building(slots_.get());
    ASSIGN_OR_RETURN(prepared,
                     PrepareProblem(problem, hash, compiler_.get(), screen_.get(), dir_.path()));
  }
  if (known != nullptr && known->expert().outcome() == v1::CORRECT) {
    prepared->calibration = *known;
  } else {
    ASSIGN_OR_RETURN(prepared->calibration,
                     Calibrate(pipeline_.get(), slots_.get(), screen_.get(), prepared.get()));
    prepared->calibration.mutable_expert()->set_isolation(isolation_.summary);
    prepared->calibration.mutable_expert()->set_worker(Hostname());
    prepared->calibration.set_unix_time(UnixSeconds());
  }
  aa_threshold_ = prepared->calibration.noise_band();
  const v1::Calibration calibration = prepared->calibration;
  const std::lock_guard<std::mutex> lock(mutex_);
  problems_.Add(hash, std::move(prepared));
  return calibration;
}

absl::StatusOr<v1::Verdict> MeasurerImpl::Measure(const v1::MeasureRequest& request) {
  if (request.candidate_id().empty())
    return absl::InvalidArgumentError("candidate_id is empty; give every candidate a unique name");
  if (request.candidate_id().size() > kNameBytesMax || request.source().size() > kSourceBytesMax)
    return absl::InvalidArgumentError(
        absl::StrCat("candidate_id has ", request.candidate_id().size(), " bytes and source ",
                     request.source().size(), "; at most ", kNameBytesMax, " and ", kSourceBytesMax,
                     " are taken"));
  RETURN_IF_ERROR(End());
  std::shared_ptr<const PreparedProblem> problem;
  std::shared_ptr<Entry> entry;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    problem = problems_.Find(request.problem_hash());
    if (problem == nullptr)
      return absl::FailedPreconditionError(absl::StrCat(
          "problem ", request.problem_hash(), " is not known here; call PutProblem first"));
    entry = entries_.Find(request.candidate_id());
    if (entry == nullptr) {
      entry = std::make_shared<Entry>();
      entry->problem_hash = request.problem_hash();
      entry->source_hash = Sha256Hex(request.source());
      entries_.Add(request.candidate_id(), entry);
    }
    if (entry->problem_hash != request.problem_hash() ||
        entry->source_hash != Sha256Hex(request.source()))
      return absl::InvalidArgumentError(absl::StrCat("candidate_id '", request.candidate_id(),
                                                     "' names another program already"));
    finished_.wait(lock, [&] { return !entry->running; });
    if (entry->cancelled)
      return absl::CancelledError(absl::StrCat(request.candidate_id(), " was cancelled"));
    const bool done = entry->artefact.final ||
                      (entry->artefact.verdict.outcome() == v1::CORRECT && !request.time());
    if (done) return entry->artefact.verdict;
    entry->running = true;
  }
  const absl::Status status = Run(*problem, request, entry.get());
  const absl::Status whole = CheckFolder(problem->Check());
  std::unique_lock<std::mutex> lock(mutex_);
  entry->running = false;
  finished_.notify_all();
  if (entry->cancelled || entry->artefact.cancelled || absl::IsCancelled(status)) {
    entry->cancelled = true;
    entries_.Erase(request.candidate_id());
    return absl::CancelledError(absl::StrCat(request.candidate_id(), " was cancelled"));
  }
  if (!whole.ok()) {
    entry->artefact = Artefact();
    entry->built = false;
    return whole;
  }
  v1::Verdict& verdict = entry->artefact.verdict;
  if (!status.ok()) {
    verdict.set_outcome(v1::INFRASTRUCTURE_ERROR);
    verdict.set_detail(std::string(status.message()));
  }
  verdict.set_candidate_id(request.candidate_id());
  verdict.set_problem_hash(request.problem_hash());
  verdict.set_isolation(isolation_.summary);
  verdict.set_worker(Hostname());
  verdict.mutable_stage_times()->set_reached_us(UnixMicros());
  const v1::Verdict reached = verdict;
  if (reached.outcome() == v1::INFRASTRUCTURE_ERROR) {
    entries_.Erase(request.candidate_id());  // A retry measures again.
  } else if (entry->artefact.final) {
    // This frees its memory too, which counts over thousands of entries.
    std::string().swap(entry->artefact.object);
    std::vector<CallEstimate>().swap(entry->artefact.estimates);
  }
  return reached;
}

absl::Status MeasurerImpl::Run(const PreparedProblem& problem, const v1::MeasureRequest& request,
                               Entry* entry) {
  Artefact& artefact = entry->artefact;
  if (!entry->built) {
    const std::string key =
        BuildKey(request.problem_hash(), problem.config.tools->version, request.source());
    if (const std::shared_ptr<const Artefact> known = builds_.Find(key)) {
      artefact = *known;
    } else {
      artefact = pipeline_->Build(problem, request.source(), &entry->cancelled);
      builds_.Add(key, artefact);
    }
    entry->built = artefact.verdict.outcome() != v1::INFRASTRUCTURE_ERROR;
    if (!artefact.final && !request.fresh()) {
      artefact.final = verdicts_.Find(request.least_speedup(), &artefact.verdict);
    }
    if (artefact.final) return absl::OkStatus();
  }
  // The seed is mixed one way, so that a verdict's seed tells nothing of other candidates'.
  const std::string mixed =
      Sha256Hex(absl::StrCat(secret_, "/", request.seed(), "/", request.candidate_id()));
  const uint64_t seed = std::stoull(mixed.substr(0, 16), nullptr, 16);
  const int threads = std::max(1, problem.bench.problem.compile().threads());
  ASSIGN_OR_RETURN(SlotPool::Lease lease, slots_->Acquire(threads, &entry->cancelled));
  SetOrigin(problem, lease.cores(), seed, &artefact.verdict);
  if (artefact.verdict.outcome() != v1::CORRECT)
    pipeline_->Check(problem, &lease, seed, &entry->cancelled, &artefact);
  if (!artefact.final && request.time()) {
    const absl::StatusOr<double> threshold = slot_aa_->Current(&lease, &entry->cancelled);
    RETURN_IF_ERROR(threshold.status());
    artefact.verdict.set_noise_band(
        std::max({*threshold, slot_aa_->Widest(), problem.calibration.noise_band()}));
    pipeline_->Time(problem, &lease, seed,
                    request.fresh() ? StoppingCriterion::kPrecise : StoppingCriterion::kClear,
                    request.least_speedup(), &entry->cancelled, &artefact);
  }
  if (artefact.final && !artefact.cancelled) verdicts_.Add(artefact.verdict);
  return absl::OkStatus();
}

void MeasurerImpl::SetOrigin(const PreparedProblem& problem, const SlotCores& cores, uint64_t seed,
                             v1::Verdict* verdict) const {
  verdict->set_input_seed(seed);
  v1::MeasuredOn* on = verdict->mutable_measured_on();
  *on = host_;
  on->set_compiler(problem.config.tools->version);
  on->mutable_flags()->Assign(problem.config.flags.begin(), problem.config.flags.end());
  on->set_timer_core(cores.timer);
  on->mutable_kernel_cores()->Assign(cores.kernel.begin(), cores.kernel.end());
  on->set_timer_apart(cores.apart);
}

void MeasurerImpl::Cancel(const std::vector<std::string>& candidate_ids) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const std::string& id : candidate_ids) {
      const std::shared_ptr<Entry> entry = entries_.Find(id);
      if (entry == nullptr) continue;
      if (entry->running)
        entry->cancelled = true;
      else if (!entry->artefact.final)
        entries_.Erase(id);
    }
  }
  slots_->Notify();
}

v1::WorkerInfo MeasurerImpl::Info() {
  v1::WorkerInfo info = DescribeWorker(slots_->plan(), compiler_->tool_chains(), isolation_, host_);
  info.set_noise_band(aa_threshold_);
  for (const double threshold : slot_aa_->All()) info.add_slot_noise_bands(threshold);
  info.set_slot_noise_measurements(slot_aa_->measurements());
  return info;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Measurer>> Measurer::Create(const MeasurerOptions& options) {
  ASSIGN_OR_RETURN(TempDir dir, TempDir::Make("whet-worker"));
  auto measurer = std::make_unique<MeasurerImpl>(std::move(dir));
  RETURN_IF_ERROR(measurer->Start(options));
  return measurer;
}

}  // namespace whetstone
