// A problem's function takes numbers, structs of numbers and pointers. What people write takes
// vectors, spans, strings and references too, and keeps sizes in a struct: an import rewrites such
// parameters, and what the function does with them.
//
//   double mean(const std::vector<double>& x, const Options& options)
//   double mean(const double* x, std::size_t x_size, int options_first)
#ifndef WHETSTONE_COORDINATOR_AUTHORING_PLAIN_SOURCE_H_
#define WHETSTONE_COORDINATOR_AUTHORING_PLAIN_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace whetstone {

struct PlainSource {
  std::string code;
  // What became of parameters: "'x' (const std::vector<double>&) is 'x' and 'x_size'".
  std::vector<std::string> changes;
};

// Returns `code` with such parameters of the function `function` (or the only one at global scope,
// if that is empty) in their plain form: vectors, spans and strings that it does not make longer or
// shorter as a pointer and a size, references as values or pointers, and as one number for each
// field what is a single struct with whole numbers, as sizes are. The code as it is, where there is
// nothing to change, or no such function. `name` is the file's. INVALID_ARGUMENT "NAME:LINE: WHAT":
// a vector whose length the function changes.
absl::StatusOr<PlainSource> MakePlain(const std::string& code, const std::string& name,
                                      const std::string& function);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_PLAIN_SOURCE_H_
