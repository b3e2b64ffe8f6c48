// A function whose result no array of one kind holds by itself (a vector of vectors, of strings or
// of pairs, one that another function makes) writes it out at its end.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_WRITTEN_RESULT_H_
#define WHETSTONE_COORDINATOR_AUTHORING_WRITTEN_RESULT_H_

#include <optional>
#include <string>

#include "coordinator/authoring/array_result.h"
#include "coordinator/prompt/cpp_source.h"

namespace whetstone {

// Returns `code` with a function that returns how long its result is, or nothing where it is no
// vector or string, and writes what it is made of to arrays (made_again.h), its last parameters;
// one that returned a bool returns an int. Nothing: it returns a number, a pointer or nothing, or
// what is not known.
std::optional<ArrayResult> WithWrittenResult(const std::string& code, const CppFunction& function);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_WRITTEN_RESULT_H_
