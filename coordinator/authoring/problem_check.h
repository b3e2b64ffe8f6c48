// Proves a problem sound before a campaign trusts its rewards (`whet problem check`): the reference
// is deterministic, the inputs matter, the outputs have variance, the expert is right and fast
// enough, equal code measures as equal, reference and expert earn what they should, and programs
// that do not do the work (canaries) all fail.
//
//   ProblemTools tools{.calibrate = …PutProblem…, .measure = …Measure…, .reward = …RewardOf…};
//   ASSIGN_OR_RETURN(ProblemReport report, CheckProblem(problem, places, tools));
//   std::cout << report.Table();
//   return report.sound() ? 0 : 1;
#ifndef WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_CHECK_H_
#define WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_CHECK_H_

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/prompt/prompt_file.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/verdict.pb.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

// The worker, as far as the check needs it. Called from the caller's thread, one at a time.
struct ProblemTools {
  // PutProblem. INVALID_ARGUMENT means that the worker found the problem unsound,
  // FAILED_PRECONDITION that its host is too small for it: findings.
  // Every other error is ours and ends the check.
  std::function<absl::StatusOr<v1::Calibration>()> calibrate;
  // Measure `source`, with `time` as in MeasureRequest, never from the verdict cache.
  std::function<absl::StatusOr<v1::Verdict>(const std::string& source, bool time)> measure;
  // What a campaign with default rewards pays for a timed, CORRECT verdict.
  std::function<double(const v1::Verdict& verdict, const v1::Calibration& calibration)> reward;
};

struct ProblemFinding {
  enum class Level { kPassed, kWarning, kFailed };
  Level level = Level::kPassed;
  std::string check;   // "expert", "canary: empty body" …
  std::string place;   // "p.md:31"; empty where the check passed
  std::string detail;  // what was found, with both numbers, and what to do
};

// What was measured on this machine; 0 where the check did not get that far. Geometric means over
// the timed sizes.
struct ProblemFigures {
  double reference_ns = 0;  // one call of the reference
  double expert_speedup = 0;
  double roofline_share =
      0;  // of the time by `cost` and the host's peak, in the expert's; 0: no cost
  double reference_reward = 0;
  double expert_reward = 0;
};

struct ProblemReport {
  std::string problem_id;
  std::vector<ProblemFinding> findings;
  ProblemFigures figures;
  // False: this machine cannot measure the problem (too few cores for its threads), so nothing is
  // known about it.
  bool proven = true;

  // Proven, and no finding failed; warnings are allowed.
  bool sound() const;
  // For people: one line a finding, then one line that says how it ended.
  std::string Table() const;
  // The last line of that table with the figures, after the findings that did not pass.
  std::string Summary() const;
  nlohmann::json ToJson() const;
};

// Fails only where the tools fail (UNAVAILABLE …); what is wrong with the problem is in the report.
absl::StatusOr<ProblemReport> CheckProblem(const v1::Problem& problem, const PromptPlaces& places,
                                           const ProblemTools& tools);

// How far the expert is from the reference, by its text: "easy" (at most 30 lines, no intrinsics),
// "hard" (more than 60 lines, or intrinsics in more than 30), else "medium". Comments and empty
// lines do not count.
std::string Difficulty(const v1::Problem& problem);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_CHECK_H_
