// The difficulty is how hard it is to write a problem's expert, judged by its text.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_DIFFICULTY_H_
#define WHETSTONE_COORDINATOR_AUTHORING_DIFFICULTY_H_

#include <string>

#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Says how far the expert is from the reference, by its text: "easy" (at most 30 lines, no
// intrinsics), "hard" (more than 60 lines, or intrinsics in more than 30), else "medium". Comments
// and empty lines do not count.
std::string Difficulty(const v1::Problem& problem);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_DIFFICULTY_H_
