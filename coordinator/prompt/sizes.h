// The sizes of a problem are complete, positive, and within memory.
#ifndef WHETSTONE_COORDINATOR_PROMPT_SIZES_H_
#define WHETSTONE_COORDINATOR_PROMPT_SIZES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/prompt/front_matter.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Fills problem->sizes and checks every expression of the problem at every size point. It expects
// all else that ReadProblem fills.
absl::Status ReadSizes(const FrontMatter& front, v1::Problem* problem);

// Returns the number of elements of `array` at `size`. INVALID_ARGUMENT: an extent below 1, or more
// than 64 bits.
absl::StatusOr<int64_t> ElementCount(const v1::Array& array, const v1::SizePoint& size);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_SIZES_H_
