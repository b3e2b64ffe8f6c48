// A fill says how an input is filled: "uniform(-1, 1)", "permutation" …
#ifndef WHETSTONE_COORDINATOR_PROMPT_FILL_H_
#define WHETSTONE_COORDINATOR_PROMPT_FILL_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// INVALID_ARGUMENT: unknown fill (with the nearest), wrong number of parameters, an empty range, or
// parameters that `type` cannot hold. Parameters that are made of sizes, "n-1", become `bounds`,
// whose values CheckFill sees at each size. The message names no line: the caller knows it.
absl::StatusOr<v1::Fill> ParseFill(absl::string_view text, v1::ElementType type);

// Says whether the parameters of a fill, at some size, make sense for elements of `type`.
absl::Status CheckFill(const v1::Fill& fill, v1::ElementType type);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_FILL_H_
