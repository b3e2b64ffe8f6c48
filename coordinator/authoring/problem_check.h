// Proves a problem sound before a campaign trusts its rewards (`whet problem check`): the reference
// is deterministic, the inputs matter, the outputs have variance, the expert is right and fast
// enough, equal code measures as equal, reference and expert earn what they should, and programs
// that do not do the work (negative_controls.h) all fail. It warns of branches of the reference
// that no input takes, and of small changes to it (mutants.h) that nobody would notice.
//
//   ProblemTools tools{.calibrate = …PutProblem…, .measure = …Measure…, .reward = …RewardOf…};
//   ASSIGN_OR_RETURN(ProblemReport report, CheckProblem(problem, locations, tools));
//   std::cout << report.Table();
//   return report.sound() ? 0 : 1;
//
// The quick check leaves out whatever needs a stopwatch, and with it most of the time: everything
// compiles, reference and expert are right on every size, the negative controls fail.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_CHECK_H_
#define WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_CHECK_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/authoring/problem_report.h"
#include "coordinator/prompt/prompt_file.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/verdict.pb.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

// The tools are the worker, as far as the check needs it. They are called from the caller's thread,
// one at a time.
struct ProblemTools {
  // Puts the problem; without `measured` nothing is measured and what it returns means nothing.
  // INVALID_ARGUMENT means that the worker found the problem unsound,
  // FAILED_PRECONDITION that its host is too small for it: findings. Every other error is ours and
  // ends the check.
  std::function<absl::StatusOr<v1::Calibration>(bool measured)> calibrate;
  // Measures `source`, with `time` as in MeasureRequest, never from the verdict cache. Where
  // the worker itself fails that is an error, not a verdict.
  std::function<absl::StatusOr<v1::Verdict>(const std::string& source, bool time)> measure;
  // Returns what a campaign with default rewards pays for a timed, CORRECT verdict.
  std::function<double(const v1::Verdict& verdict, const v1::Calibration& calibration)> reward;
};

// Checks a problem. Fails only where the tools fail (UNAVAILABLE …); what is wrong with the problem
// is in the report.
absl::StatusOr<ProblemReport> CheckProblem(const v1::Problem& problem,
                                           const PromptLocations& locations,
                                           const ProblemTools& tools, bool quick = false);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_CHECK_H_
