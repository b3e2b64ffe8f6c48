#include "cpu_bench_worker/measure/pipeline.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/philox.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/build/readable_file.h"
#include "cpu_bench_worker/stats/statistics.h"
#include "cpu_bench_worker/verdict/printable.h"

namespace whetstone {
namespace {

// Below this share of the physical floor nobody computes what `cost` says; the measured peak is a
// best case, so it leaves room.
constexpr double kPhysicalFloorShare = 0.8;
// A result past the expert by this factor is measured a second time.
constexpr double kPastExpert = 2.0;
constexpr double kOutlierSpeedupMin = 1.5;
// Equal code is never quieter than this, whatever one calibration saw.
constexpr double kAaThresholdMin = 0.003;
// A threshold no wider than this needs no further try.
constexpr double kAaThresholdGood = 0.015;

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

// StageTimer adds the stage's wall time to a verdict field and to the candidate's total.
class StageTimer {
 public:
  StageTimer(Artefact* artefact, void (v1::Verdict::*set)(double), double before)
      : artefact_(artefact), set_(set), before_(before), begin_(std::chrono::steady_clock::now()) {}
  ~StageTimer() {
    const double seconds = Seconds(begin_);
    (artefact_->verdict.*set_)(before_ + seconds);
    artefact_->spent_s += seconds;
  }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  Artefact* artefact_;
  void (v1::Verdict::*set_)(double);
  double before_;
  std::chrono::steady_clock::time_point begin_;
};

// Returns the slot as StageTimes has it: the index of the whole host is the largest there is.
int32_t SlotOf(const SlotPool::Lease& lease) { return static_cast<int32_t>(lease.index()); }

void SetTimed(const std::vector<CallShape>& shapes, const TimeReport& report,
              v1::Verdict* verdict) {
  verdict->set_timed(true);
  verdict->set_speedup(report.score.speedup);
  verdict->set_speedup_error(report.score.error);
  verdict->set_stopped_early(report.stopped_early);
  verdict->set_below_least(report.below_least);
  verdict->set_process_pairs(report.process_pairs);
  verdict->set_start_s(verdict->start_s() + report.start_s);
  verdict->set_invocations_s(verdict->invocations_s() + report.invocations_s);
  verdict->clear_sizes();
  bool shared = false;
  for (size_t i = 0; i < report.sizes.size(); ++i) {
    v1::SizeResult* size = verdict->add_sizes();
    size->mutable_size()->insert(shapes[i].size.begin(), shapes[i].size.end());
    size->set_speedup(report.sizes[i].speedup);
    size->set_reference_ns(report.sizes[i].reference_ns);
    size->set_candidate_ns(report.sizes[i].candidate_ns);
    size->set_pairs(report.sizes[i].samples);
    size->set_calls(report.sizes[i].samples * report.sizes[i].calls_per_request);
    size->set_rounds_redone(report.sizes[i].samples_redone);
    size->set_rounds_clock_changed(report.sizes[i].samples_frequency_changed);
    size->set_rounds_core_shared(report.sizes[i].samples_core_shared);
    size->set_pairs_core_shared(report.sizes[i].samples_counted_shared);
    shared = shared || size->pairs_core_shared() > 0;
  }
  if (shared) {
    // What a neighbour moved is no scatter of these samples, and an error all the same.
    verdict->set_noise_band(std::max(verdict->noise_band(), kSharedAaThreshold));
    verdict->set_speedup_error(
        std::hypot(report.score.error, LongRunError(report.score.speedup, kSharedDrift)));
  }
  const Score score = WithLongRun(report.score, LongRunThreshold(verdict->noise_band(), shared),
                                  report.stopped_early ? Confidence::k995 : Confidence::k95);
  verdict->set_speedup_low(score.low);
  verdict->set_speedup_high(score.high);
}

}  // namespace

absl::StatusOr<std::string> Pipeline::Materialize(const Artefact& artefact) {
  const std::string path = absl::StrCat(dir_, "/candidate-", objects_++, ".so");
  RETURN_IF_ERROR(WriteReadableFile(path, artefact.object));
  return path;
}

void Pipeline::End(const Failure& failure, Artefact* artefact) {
  artefact->cancelled = failure.outcome == kCancelledOutcome;
  artefact->final = true;
  artefact->verdict.set_outcome(failure.outcome);
  artefact->verdict.set_detail(Printable(failure.detail));
  artefact->verdict.set_timed(false);
}

void Pipeline::EndWrong(int right, int cases, const std::string& first_bad, Artefact* artefact) {
  End({v1::WRONG_ANSWER,
       absl::StrCat("wrong in ", cases - right, " of ", cases, " cases; first at ", first_bad)},
      artefact);
  artefact->verdict.set_pass_fraction(cases == 0 ? 0 : static_cast<double>(right) / cases);
}

Artefact Pipeline::Build(const PreparedProblem& problem, const std::string& source,
                         const std::atomic<bool>* cancelled) {
  Artefact artefact;
  artefact.verdict.set_problem_hash(problem.bench.hash);
  artefact.verdict.set_noise_band(problem.calibration.noise_band());
  const SlotPool::BuildLease building(slots_);
  if (cancelled != nullptr && *cancelled) {
    End({kCancelledOutcome, "cancelled"}, &artefact);
    return artefact;
  }
  const auto begin = std::chrono::steady_clock::now();
  artefact.verdict.mutable_stage_times()->set_build_us(UnixMicros());
  const std::string text = WithoutStructs(source, problem.bench.problem);
  // Both run side by side: most candidates pass the screen, and then only the longer of the two
  // takes time. (The compiler's sandbox needs no screen before it.)
  double screen_s = 0;
  std::future<ScreenReport> screening;
  if (screen_ != nullptr)
    screening = std::async(std::launch::async, [&] {
      ScreenReport report = screen_->Screen(problem.screen, text);
      screen_s = Seconds(begin);
      return report;
    });
  CompileResult compiled =
      compiler_->Compile(problem.config, problem.shim_object, text, problem.function);
  artefact.verdict.set_compile_s(Seconds(begin));
  if (screening.valid()) {
    ScreenReport report = screening.get();
    artefact.verdict.set_screen_s(screen_s);
    artefact.verdict.set_canonical_hash(report.canonical_hash);
    for (std::string& tag : report.techniques) artefact.verdict.add_techniques(std::move(tag));
    if (!report.status.ok())
      End(OurFault(report.status), &artefact);
    else if (report.outcome != v1::OUTCOME_UNSPECIFIED)
      End({report.outcome, report.detail}, &artefact);
  }
  artefact.spent_s = Seconds(begin);
  if (artefact.final) return artefact;
  if (!compiled.status.ok()) {
    End(OurFault(compiled.status), &artefact);
  } else if (compiled.entry_missing) {
    End({v1::NO_CODE, absl::StrCat("the program does not define ",
                                   problem.bench.problem.signature(), " exactly so")},
        &artefact);
  } else if (!compiled.compiled) {
    End({v1::COMPILE_ERROR, compiled.diagnostics}, &artefact);
  } else {
    artefact.object = std::move(compiled.object);
    artefact.verdict.set_object_hash(compiled.object_hash);
  }
  return artefact;
}

void Pipeline::Check(const PreparedProblem& problem, SlotPool::Lease* lease, uint64_t seed,
                     const std::atomic<bool>* cancelled, Artefact* artefact) {
  const StageTimer timer(artefact, &v1::Verdict::set_check_s, 0);
  artefact->verdict.mutable_stage_times()->set_check_us(UnixMicros());
  artefact->verdict.mutable_stage_times()->set_check_slot(SlotOf(*lease));
  const absl::StatusOr<std::string> object = Materialize(*artefact);
  if (!object.ok()) return End(OurFault(object.status()), artefact);
  const absl::Cleanup remove = [&] { unlink(object->c_str()); };
  const PinnedThread pin(lease->cores().timer);
  Session session({kernel_binary_, lease->cores(), &problem.bench, cancelled}, *object, seed);
  CheckReport report;
  const auto failure = CheckCandidate(&session, &report);
  artefact->candidate_s = session.candidate_s();
  if (failure.has_value()) {
    artefact->verdict.set_pass_fraction(
        report.cases == 0 ? 0 : static_cast<double>(report.cases_right) / report.cases);
    return End(*failure, artefact);
  }
  if (report.cases_right < report.cases)
    return EndWrong(report.cases_right, report.cases, report.first_bad, artefact);
  artefact->estimates = std::move(report.timed);
  artefact->verdict.set_outcome(v1::CORRECT);
  artefact->verdict.set_pass_fraction(1);
  artefact->verdict.set_detail(absl::StrCat("right in all ", report.cases, " cases"));
}

void Pipeline::Time(const PreparedProblem& problem, SlotPool::Lease* lease, uint64_t seed,
                    StoppingCriterion criterion, double least_speedup,
                    const std::atomic<bool>* cancelled, Artefact* artefact) {
  lease->BeginTiming();
  const absl::Cleanup end_timing = [&] { lease->EndTiming(); };
  const StageTimer timer(artefact, &v1::Verdict::set_time_s, 0);
  artefact->verdict.mutable_stage_times()->set_time_us(UnixMicros());
  artefact->verdict.mutable_stage_times()->set_time_slot(SlotOf(*lease));
  const absl::StatusOr<std::string> object = Materialize(*artefact);
  if (!object.ok()) return End(OurFault(object.status()), artefact);
  const absl::Cleanup remove = [&] { unlink(object->c_str()); };
  const PinnedThread pin(lease->cores().timer);
  const BenchContext context{kernel_binary_, lease->cores(), &problem.bench, cancelled};
  Session session(context, *object, Philox(seed, {0x71E, 0, 0, 0}).Next64(), artefact->candidate_s);
  TimeReport report;
  const double budget_s =
      std::max(1.0, problem.bench.problem.limits().total_s() - artefact->spent_s);
  if (const auto failure = TimeCandidate(&session, problem.bench.timed, artefact->estimates,
                                         {.budget_s = budget_s,
                                          .criterion = criterion,
                                          .least_speedup = least_speedup,
                                          .aa_threshold = artefact->verdict.noise_band(),
                                          .smt_detector = SmtDetectorOf(*lease)},
                                         &report))
    return End(*failure, artefact);
  if (!report.first_bad.empty())
    return EndWrong(report.samples_right, report.samples, report.first_bad, artefact);
  SetTimed(problem.bench.timed, report, &artefact->verdict);
  bool below_physical_floor = false;
  const absl::StatusOr<std::string> outlier =
      OutlierCheck(problem, report, lease->cores(), &artefact->verdict, &below_physical_floor);
  if (!outlier.ok()) return End(OurFault(outlier.status()), artefact);
  artefact->final = true;
  if (!outlier->empty()) {
    // What was odd about one slot's cores isn't about another's.
    std::optional<SlotPool::Lease> other = slots_->TryAcquireOther(*lease);
    SlotPool::Lease& second = other.has_value() ? *other : *lease;
    second.BeginTiming();
    const PinnedThread pin_again(second.cores().timer);
    Remeasure(problem, second, *object, seed, criterion, *outlier, cancelled, artefact);
    if (artefact->verdict.outcome() != v1::CORRECT) return;
  }
  artefact->verdict.set_detail(absl::StrFormat(
      "right everywhere; %.3fx the reference [%.3f, %.3f]%s", artefact->verdict.speedup(),
      artefact->verdict.speedup_low(), artefact->verdict.speedup_high(),
      outlier->empty() ? "" : absl::StrCat("; measured twice because it was ", *outlier)));
}

absl::StatusOr<std::string> Pipeline::OutlierCheck(const PreparedProblem& problem,
                                                   const TimeReport& report, const SlotCores& cores,
                                                   v1::Verdict* verdict,
                                                   bool* below_physical_floor) {
  const std::lock_guard<std::mutex> lock(peak_mutex_);
  for (size_t i = 0; i < report.sizes.size(); ++i) {
    const CallShape& shape = problem.bench.timed[i];
    ASSIGN_OR_RETURN(const double floor_ns, peak_->PhysicalFloorNs(problem.bench, shape, cores));
    verdict->mutable_sizes(static_cast<int>(i))->set_floor_ns(floor_ns);
    *below_physical_floor = report.sizes[i].candidate_ns < kPhysicalFloorShare * floor_ns;
    if (*below_physical_floor)
      return absl::StrFormat("faster at %s (%.0f ns) than this host can be (%.0f ns)",
                             SizeText(shape.size), report.sizes[i].candidate_ns, floor_ns);
  }
  const double expert = problem.calibration.expert().speedup();
  if (expert > 0 && report.score.speedup > kOutlierSpeedupMin &&
      report.score.speedup > kPastExpert * expert)
    return absl::StrFormat("far past the expert (%.2fx against %.2fx)", report.score.speedup,
                           expert);
  return std::string();
}

void Pipeline::Remeasure(const PreparedProblem& problem, const SlotPool::Lease& lease,
                         const std::string& object, uint64_t seed, StoppingCriterion criterion,
                         const std::string& reason, const std::atomic<bool>* cancelled,
                         Artefact* artefact) {
  // Seeds and processes are new.
  Session session({kernel_binary_, lease.cores(), &problem.bench, cancelled}, object,
                  Philox(seed, {0xD0B7, 0, 0, 0}).Next64());
  CheckReport check;
  if (const auto failure = CheckCandidate(&session, &check)) return End(*failure, artefact);
  if (check.cases_right < check.cases)
    return EndWrong(check.cases_right, check.cases, check.first_bad, artefact);
  TimeReport report;
  if (const auto failure =
          TimeCandidate(&session, problem.bench.timed, check.timed,
                        {.budget_s = problem.bench.problem.limits().total_s(),
                         .criterion = std::max(criterion, StoppingCriterion::kAllPairs),
                         .smt_detector = SmtDetectorOf(lease)},
                        &report))
    return End(*failure, artefact);
  if (!report.first_bad.empty())
    return EndWrong(report.samples_right, report.samples, report.first_bad, artefact);
  SetTimed(problem.bench.timed, report, &artefact->verdict);
  artefact->verdict.set_doubted(true);
  bool below_physical_floor = false;
  {
    const std::lock_guard<std::mutex> lock(peak_mutex_);
    peak_->MeasureAgain();
  }
  const absl::StatusOr<std::string> again =
      OutlierCheck(problem, report, lease.cores(), &artefact->verdict, &below_physical_floor);
  if (!again.ok()) return End(OurFault(again.status()), artefact);
  if (!below_physical_floor) return;
  artefact->verdict.set_outcome(v1::SUSPECT);
  artefact->verdict.set_detail(absl::StrCat("measured twice and still ", *again, "; first ", reason,
                                            ". Either it does not do the work, or the problem's "
                                            "cost is too high"));
}

absl::StatusOr<double> Pipeline::AaThreshold(const PreparedProblem& problem, SlotPool::Lease* lease,
                                             int tries, const std::atomic<bool>* cancelled) {
  lease->BeginTiming();
  const absl::Cleanup end_timing = [&] { lease->EndTiming(); };
  const PinnedThread pin(lease->cores().timer);
  Session session({kernel_binary_, lease->cores(), &problem.bench, cancelled},
                  problem.bench.reference_object, 0xCA11B8);
  const auto unsound = [](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the reference, run against itself, ", what,
        ". It must be deterministic, write every output, and agree with the oracle or checker"));
  };
  const auto failed = [](const Failure& failure) -> absl::Status {
    if (failure.outcome == kCancelledOutcome) return absl::CancelledError(failure.detail);
    const bool ours = failure.outcome == v1::INFRASTRUCTURE_ERROR && !failure.unsound;
    return ProblemStatus(ours || failure.hosts,
                         absl::StrCat("the reference could not be measured: ", failure.detail));
  };
  CheckReport check;
  if (const auto failure = CheckCandidate(&session, &check)) return failed(*failure);
  if (check.cases_right < check.cases)
    return unsound(absl::StrCat("is wrong in ", check.cases - check.cases_right, " of ",
                                check.cases, " cases; first at ", check.first_bad));
  // A disturbed first try does not decide alone. The middle one does then: the least of them would
  // call differences real that are not.
  std::vector<double> seen;
  while (seen.size() < static_cast<size_t>(tries)) {
    TimeReport time;
    if (const auto failure = TimeCandidate(
            &session, problem.bench.timed, check.timed,
            {.criterion = StoppingCriterion::kAllPairs, .smt_detector = SmtDetectorOf(*lease)},
            &time))
      return failed(*failure);
    if (!time.first_bad.empty()) return unsound(absl::StrCat("is wrong at ", time.first_bad));
    seen.push_back(std::max({kAaThresholdMin, std::fabs(std::log(time.score.low)),
                             std::fabs(std::log(time.score.high))}));
    if (seen.size() == 1 && seen[0] <= kAaThresholdGood) break;
  }
  return Median(seen);
}

}  // namespace whetstone
