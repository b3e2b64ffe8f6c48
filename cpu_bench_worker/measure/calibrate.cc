#include "cpu_bench_worker/measure/calibrate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

// The expert calibrates the reward; a problem without headroom teaches nothing.
constexpr double kExpertSpeedupMin = 1.2;
constexpr int kAaTries = 3;  // A problem has so many, as it is calibrated once.

// Says whether the expert can calibrate the reward.
absl::Status CheckExpert(const v1::Verdict& expert) {
  if (expert.outcome() != v1::CORRECT)
    return absl::InvalidArgumentError(absl::StrCat("the expert is not CORRECT but ",
                                                   v1::Outcome_Name(expert.outcome()), ": ",
                                                   expert.detail()));
  if (expert.speedup_high() < kExpertSpeedupMin)
    return absl::InvalidArgumentError(absl::StrCat(
        "the expert is only ", expert.speedup(), "x the reference; it must be at least ",
        kExpertSpeedupMin, "x, or there is nothing to learn"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::Calibration> Calibrate(Pipeline* pipeline, SlotPool* slots, ScreenClient* screen,
                                          PreparedProblem* problem) {
  const int threads = std::max(1, problem->bench.problem.compile().threads());
  {
    ASSIGN_OR_RETURN(SlotPool::Lease lease, slots->Acquire(threads, nullptr));
    ASSIGN_OR_RETURN(const double threshold,
                     pipeline->AaThreshold(*problem, &lease, kAaTries, nullptr));
    problem->calibration.set_noise_band(threshold);
  }
  // Reference and expert have to pass the screen that candidates pass: rules the authors can't keep
  // are wrong.
  if (screen != nullptr) {
    const SlotPool::BuildLease building(slots);
    const ScreenReport report = screen->Screen(problem->screen, problem->bench.problem.reference());
    RETURN_IF_ERROR(report.status);
    if (report.outcome != v1::OUTCOME_UNSPECIFIED)
      return absl::InvalidArgumentError(
          absl::StrCat("the reference does not pass the screen: ", report.detail));
  }
  if (problem->bench.problem.expert().empty()) {
    problem->calibration.mutable_expert()->set_outcome(v1::CORRECT);
    return problem->calibration;
  }
  Artefact artefact = pipeline->Build(*problem, problem->bench.problem.expert(), nullptr);
  if (!artefact.final) {
    ASSIGN_OR_RETURN(SlotPool::Lease lease, slots->Acquire(threads, nullptr));
    pipeline->Check(*problem, &lease, 0xE4BE, nullptr, &artefact);
    if (!artefact.final)
      pipeline->Time(*problem, &lease, 0xE4BE, StoppingCriterion::kPrecise,
                     /*least_speedup=*/0, nullptr, &artefact);
  }
  const v1::Verdict& expert = artefact.verdict;
  if (expert.outcome() == v1::INFRASTRUCTURE_ERROR) return absl::UnavailableError(expert.detail());
  const absl::Status checked = CheckExpert(expert);
  if (!checked.ok() && !problem->bench.problem.expert_by_rules()) return checked;
  // A calibration without an expert's speedup is that of a problem without one.
  problem->calibration.mutable_expert()->set_outcome(v1::CORRECT);
  if (checked.ok()) *problem->calibration.mutable_expert() = expert;
  return problem->calibration;
}

}  // namespace whetstone
