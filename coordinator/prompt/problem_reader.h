// The keys of the front matter mean a Problem, checked against the signature.
#ifndef WHETSTONE_COORDINATOR_PROMPT_PROBLEM_READER_H_
#define WHETSTONE_COORDINATOR_PROMPT_PROBLEM_READER_H_

#include "absl/status/status.h"
#include "coordinator/prompt/front_matter.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Fills every field of `problem` but `prose` and the sources. It expects `generator` and `checker`
// to be set already: with a generator an input needs no fill, with a checker no compare.
// INVALID_ARGUMENT: "FILE:LINE: what is wrong".
absl::Status ReadProblem(const FrontMatter& front, v1::Problem* problem);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_PROBLEM_READER_H_
