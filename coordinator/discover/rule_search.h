// Rules at work on one problem: SearchRewrites with a worker of this machine, a budget, a console
// and, where one is given, a log that outlives the process.
//
//   ASSIGN_OR_RETURN(RewriteSearch search, SearchByRules(problem, options, budget, tools));
//   WriteFileAtomically("mine.jsonl", ExamplesOf(problem, search.kept));
#ifndef WHETSTONE_COORDINATOR_DISCOVER_RULE_SEARCH_H_
#define WHETSTONE_COORDINATOR_DISCOVER_RULE_SEARCH_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/discover/budget.h"
#include "coordinator/discover/verdict_log.h"
#include "coordinator/loop/local_worker.h"
#include "coordinator/rewrites/rewrite_search.h"
#include "coordinator/terminal/console.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// All are borrowed.
struct RuleSearchTools {
  LocalWorker* worker = nullptr;
  Console* console = nullptr;
  std::function<bool()> stopped;  // by the operator
  VerdictLog* log = nullptr;      // null: every program is measured
  // Gets the worker's failure, which ends the search, or among long programs that part of it; may
  // be null.
  absl::Status* worker_failure = nullptr;
};

// Puts the problem to the worker and searches until its rules are through, the budget is spent or
// the operator stops it; time shown on the console. Errors are those of LocalWorker and
// Rewriter::Make; what ends a search that has begun is in RewriteSearch::ended.
absl::StatusOr<RewriteSearch> SearchByRules(const v1::Problem& problem,
                                            const RewriteOptions& options, const Budget& budget,
                                            const RuleSearchTools& tools);

// Says whether a search went as far as it could: to its end, or to a function that rules cannot
// rewrite.
bool WentThrough(const RewriteSearch& search);

// Returns what a search found, for people; `options` are those it had, `remedy` says how longer
// programs are allowed (may be empty).
std::string SearchText(const v1::Problem& problem, const RewriteSearch& search,
                       const RewriteOptions& options, const std::string& remedy);

// Returns what another model can be shown of a search: also the fastest that is too long to be
// taught.
std::vector<FoundRewrite> ToShow(const RewriteSearch& search);

// Returns programs as a file of worked examples, for warmup.rewrites or search.rewrites.
std::string ExamplesOf(const v1::Problem& problem, const std::vector<FoundRewrite>& programs);

// Measures a program as precisely as the worker can, and writes its stand-alone benchmark to
// `folder`. FAILED_PRECONDITION: it is not right any more.
absl::StatusOr<v1::Verdict> ProveProgram(const v1::Problem& problem, const FoundRewrite& program,
                                         const std::string& folder, LocalWorker* worker);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_RULE_SEARCH_H_
