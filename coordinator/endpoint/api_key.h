// The key for a server: it is read from where the operator keeps it, and shown nowhere.
#ifndef WHETSTONE_COORDINATOR_ENDPOINT_API_KEY_H_
#define WHETSTONE_COORDINATOR_ENDPOINT_API_KEY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

struct KeySource {
  std::string environment_variable;
  std::string file;
};

// Returns the key of the one source that is named, without white space around it; "" if none is.
// INVALID_ARGUMENT names the source, never what it holds: both are named, it is missing, it holds
// nothing, or something that no header can carry.
absl::StatusOr<std::string> ReadApiKey(const KeySource& source);

// Returns the text with "[key]" in the key's place, should a server repeat it. An empty key is
// nowhere.
std::string WithoutKey(absl::string_view text, const std::string& key);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_ENDPOINT_API_KEY_H_
