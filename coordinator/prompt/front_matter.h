// The front matter of a prompt file, read into a Problem and checked against the signature.
#ifndef WHETSTONE_COORDINATOR_PROMPT_FRONT_MATTER_H_
#define WHETSTONE_COORDINATOR_PROMPT_FRONT_MATTER_H_

#include "absl/status/status.h"
#include "coordinator/prompt/yaml_map.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Fills every field of `problem` but `sizes`, `prose` and the sources. Expects `generator` and
// `checker` to be set already: with a generator an input needs no fill, with a checker no compare.
absl::Status ReadFrontMatter(const YamlMap& top, v1::Problem* problem);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_FRONT_MATTER_H_
