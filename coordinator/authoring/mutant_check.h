// Measures mutants of a problem's reference (mutants.h), as `whet problem check` does.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_MUTANT_CHECK_H_
#define WHETSTONE_COORDINATOR_AUTHORING_MUTANT_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "coordinator/authoring/problem_check.h"

namespace whetstone {

// Adds what the drawn inputs do not reach, and which small changes of the reference nobody would
// notice: warnings, for a change may be none, such as a bound that is never the last. The reference
// must be right; `reference_object` is its verdict's object_hash. Fails only where the tools fail.
absl::Status CheckMutants(const v1::Problem& problem, const std::string& reference_object,
                          const PromptLocations& locations, const ProblemTools& tools,
                          ProblemReport* report);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_MUTANT_CHECK_H_
