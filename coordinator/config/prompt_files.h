// Where prompt files can be named a folder can, which stands for those in it.
#ifndef WHETSTONE_COORDINATOR_CONFIG_PROMPT_FILES_H_
#define WHETSTONE_COORDINATOR_CONFIG_PROMPT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace whetstone {

// Returns the prompt files that `paths` name: of a folder every .md but its README.md, by name;
// what is no folder as it is, whether or not it is there. PERMISSION_DENIED: a folder can't be
// read. NOT_FOUND: it holds no prompt file.
absl::StatusOr<std::vector<std::string>> PromptFiles(const std::vector<std::string>& paths);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CONFIG_PROMPT_FILES_H_
