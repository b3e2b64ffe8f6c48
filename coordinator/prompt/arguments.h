// The keys `args` and `returns` of the front matter say what goes into a call and what comes back.
#ifndef WHETSTONE_COORDINATOR_PROMPT_ARGUMENTS_H_
#define WHETSTONE_COORDINATOR_PROMPT_ARGUMENTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "coordinator/prompt/front_matter.h"
#include "coordinator/prompt/signature.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Fills problem->returns, and needs its structs. INVALID_ARGUMENT, here and below: "FILE:LINE: what
// is wrong", disagreement with the signature among it.
absl::Status ReadReturns(const FrontMatter& front, const Signature& signature,
                         v1::Problem* problem);
// Fills problem->args, in the signature's order, and needs its structs, `returns` and `generator`.
absl::Status ReadArguments(const FrontMatter& front, const Signature& signature,
                           v1::Problem* problem);

// Fails if `text`, which stands at `key`, is no expression.
absl::Status CheckExpression(const FrontMatter& front, const std::string& key,
                             absl::string_view text);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_ARGUMENTS_H_
