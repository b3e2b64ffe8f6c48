// The key `compile` of the front matter says how a candidate is compiled, and what it may use.
#ifndef WHETSTONE_COORDINATOR_PROMPT_COMPILE_RULES_H_
#define WHETSTONE_COORDINATOR_PROMPT_COMPILE_RULES_H_

#include "absl/status/status.h"
#include "coordinator/prompt/front_matter.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Fills problem->compile. INVALID_ARGUMENT: a flag that does more than tune the code, and other
// values that are not allowed; "FILE:LINE: what is wrong".
absl::Status ReadCompileRules(const FrontMatter& front, v1::Problem* problem);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_COMPILE_RULES_H_
