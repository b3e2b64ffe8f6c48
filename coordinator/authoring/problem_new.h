// `whet problem new NAME` writes a prompt file to start from: it is complete, parses, passes `whet
// problem check`, and has a comment at each place that is to be edited.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_NEW_H_
#define WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_NEW_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// Returns the text of NAME.md. INVALID_ARGUMENT: `name` is not [a-z][a-z0-9_]*, at most 64
// characters, or is a C++ keyword.
absl::StatusOr<std::string> NewPromptFile(absl::string_view name);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_PROBLEM_NEW_H_
