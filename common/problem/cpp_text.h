// These functions look at C++ text without parsing it.
#ifndef WHETSTONE_COMMON_PROBLEM_CPP_TEXT_H_
#define WHETSTONE_COMMON_PROBLEM_CPP_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace whetstone {

// Returns `code` with comments, the insides of literals and preprocessor lines as spaces: what is
// left, and every line end, stays where it was. Raw strings are not known.
std::string MaskedCpp(absl::string_view code);

// Returns the line, from 1, on which the byte at `at` stands.
int LineAt(absl::string_view code, size_t at);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_PROBLEM_CPP_TEXT_H_
