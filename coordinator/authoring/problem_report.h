// A ProblemReport holds what `whet problem check` found out about a problem, and tells it.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_REPORT_H_
#define WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace whetstone {

struct ProblemFinding {
  enum class Level { kPassed, kWarning, kFailed };
  Level level = Level::kPassed;
  std::string check;     // "expert", "canary: empty body" …
  std::string location;  // "p.md:31"; empty where the check passed
  std::string detail;    // what was found, with both numbers, and what to do
};

// The figures were measured on this machine; they are 0 where the check did not get that far. They
// are geometric means over the timed sizes.
struct ProblemFigures {
  double reference_ns = 0;  // one call of the reference
  double expert_speedup = 0;
  // This is the time by `cost` and the host's peak as a share of the expert's; 0 where there is no
  // cost.
  double roofline_share = 0;
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
  // True: nothing was timed, and "sound" is said of right and wrong alone.
  bool quick = false;

  // Says whether the problem is proven and no finding failed; warnings are allowed.
  bool sound() const;
  // Returns text for people: one line a finding, then one line that says how it ended.
  std::string Table() const;
  // Returns the last line of that table with the figures, after the findings that did not pass.
  std::string Summary() const;
  nlohmann::json ToJson() const;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_REPORT_H_
