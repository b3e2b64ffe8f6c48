// The hash names a problem's content, equal in every service.
#ifndef WHETSTONE_COMMON_PROBLEM_PROBLEM_HASH_H_
#define WHETSTONE_COMMON_PROBLEM_PROBLEM_HASH_H_

#include <string>

#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Returns the SHA-256 (hex) over the deterministic serialization: map entries are ordered by key,
// so that two processes agree. It is stable for one version of problem.proto and protobuf.
std::string ProblemHash(const v1::Problem& problem);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_PROBLEM_PROBLEM_HASH_H_
