// Proves a problem sound before a campaign trusts its rewards (`whet problem check`): the reference
// is deterministic, the inputs matter, the outputs have variance, the expert is right and fast
// enough, equal code measures as equal, and programs that do not do the work (canaries) all fail.
//
//   ProblemTools tools{.calibrate = …PutProblem…, .measure = …Measure…};
//   ProblemReport report = CheckProblem(problem, tools);
//   std::cout << report.Table();
//   return report.sound() ? 0 : 1;
#ifndef WHETSTONE_COORDINATOR_PROMPT_PROBLEM_CHECK_H_
#define WHETSTONE_COORDINATOR_PROMPT_PROBLEM_CHECK_H_

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/verdict.pb.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

// The worker, as far as the check needs it. Called from the caller's thread, one at a time.
struct ProblemTools {
  // PutProblem. INVALID_ARGUMENT means that the worker found the problem unsound: a finding.
  // Every other error is ours and ends the check.
  std::function<absl::StatusOr<v1::Calibration>()> calibrate;
  // Measure `source`, with `time` as in MeasureRequest, never from the verdict cache.
  std::function<absl::StatusOr<v1::Verdict>(const std::string& source, bool time)> measure;
};

struct ProblemFinding {
  enum class Level { kPassed, kWarning, kFailed };
  Level level = Level::kPassed;
  std::string check;   // "expert", "canary: empty body" …
  std::string detail;  // what was found, with both numbers, and what to do
};

struct ProblemReport {
  std::string problem_id;
  std::vector<ProblemFinding> findings;

  // No finding failed; warnings are allowed.
  bool sound() const;
  // For people: one line a finding, then one line that says how it ended.
  std::string Table() const;
  nlohmann::json ToJson() const;
};

// Fails only where the tools fail (UNAVAILABLE …); what is wrong with the problem is in the report.
absl::StatusOr<ProblemReport> CheckProblem(const v1::Problem& problem, const ProblemTools& tools);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_PROBLEM_CHECK_H_
