// "cpu[01-16]" stands for cpu01 … cpu16, as Slurm and pdsh write it.
#ifndef WHETSTONE_COORDINATOR_CONFIG_HOST_RANGE_H_
#define WHETSTONE_COORDINATOR_CONFIG_HOST_RANGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// "cpu[01-03,7]x" gives cpu01x cpu02x cpu03x cpu7x; text without brackets is one host. The width of
// the first number is kept. There may be one bracket and 4096 hosts at most. INVALID_ARGUMENT shows
// the text and says what is wrong with it.
absl::StatusOr<std::vector<std::string>> ExpandHostRange(absl::string_view text);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CONFIG_HOST_RANGE_H_
