// A fill whose bounds are made of sizes: "uniform(0, n-1)" holds places in an array of n elements.
#ifndef WHETSTONE_COMMON_PROBLEM_SIZED_FILL_H_
#define WHETSTONE_COMMON_PROBLEM_SIZED_FILL_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Returns `fill` as it is at these sizes: with parameters where it has bounds, and no bounds.
// INVALID_ARGUMENT: a bound that has no value there, or a range that is empty. Pure.
absl::StatusOr<v1::Fill> FillAt(const v1::Fill& fill, const std::map<std::string, int64_t>& sizes);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_PROBLEM_SIZED_FILL_H_
