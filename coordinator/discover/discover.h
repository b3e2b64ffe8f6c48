// A C++ function in, its fastest proved form out (`whet discover`): import, check, rules, a
// campaign, a proof.
//
//   DiscoverOptions options{.file = "saxpy.cc", .out = "runs/saxpy", .budget = *ParseBudget("9m")};
//   ASSIGN_OR_RETURN(Discovery found, Discover(options, &signals, &console));
//
// Everything lands in one folder (discover_folder.h), and what is there is not done again: a search
// that was stopped or killed goes on where it was.
#ifndef WHETSTONE_COORDINATOR_DISCOVER_DISCOVER_H_
#define WHETSTONE_COORDINATOR_DISCOVER_DISCOVER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/discover/budget.h"
#include "coordinator/discover/discover_folder.h"
#include "coordinator/discover/discover_result.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"

namespace whetstone {

struct DiscoverOptions {
  std::string file;                  // a C++ source, or a prompt file (*.md)
  std::string function;              // of a C++ source; empty: the only one
  std::string generator;             // a C++ source (authoring/input_generator.h); empty: none
  std::vector<std::string> answers;  // KEY=VALUE, to the import's questions
  std::string out;                   // empty: runs/discover-NAME, of the file's name
  // A model behind an endpoint that writes programs, in the place of a policy that learns (its URL,
  // and its name there); empty: none, but what the campaign says.
  std::string endpoint;
  std::string model;
  // The campaign that follows the rules (empty: deploy/discover.yaml, or with an endpoint
  // deploy/endpoint.yaml, of the sources that this program was built from, three folders above it).
  // Its problems and name are set here, warmup.rewrites or with an endpoint search.rewrites, and
  // train.steps unless `sets` have it, which have the last word.
  std::string campaign;
  std::vector<std::string> sets;
  Budget budget;
  bool yes = false;  // approves the problem unseen, and what an endpoint may be asked
};

struct Discovery {
  DiscoverFolder folder;
  DiscoverResult result;
  absl::Status campaign;  // why it ended before its time; the result holds all the same
  bool stopped = false;   // by the operator
};

// INVALID_ARGUMENT and the like: the file, an answer, the campaign or its model will not do, or the
// problem is unsound. FAILED_PRECONDITION: nobody approved it. CANCELLED: the operator said no, or
// stopped it before anything could be found. Pointers are borrowed.
absl::StatusOr<Discovery> Discover(const DiscoverOptions& options, StopSignals* signals,
                                   Console* console);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_DISCOVER_H_
