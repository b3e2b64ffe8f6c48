// A problem's function takes numbers, structs of numbers and pointers. What people write takes
// vectors, spans, strings and references too, and keeps sizes in a struct: an import rewrites such
// parameters.
//
//   double mean(const std::vector<double>& x, const Options& options)
//   double mean(const double* x, size_t x_size, int options_first)
#ifndef WHETSTONE_COORDINATOR_AUTHORING_PLAIN_SOURCE_H_
#define WHETSTONE_COORDINATOR_AUTHORING_PLAIN_SOURCE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace whetstone {

struct PlainSource {
  std::string code;
  // What became of parameters: "'x' (const std::vector<double>&) is 'x' and 'x_size'".
  std::vector<std::string> changes;
  // How long arrays are that something is made of, by name: "x_size", "rows*cols".
  std::map<std::string, std::string> extents = {};
};

// Returns `code` unwrapped (unwrapped_source.h), with what the function `function` returns (or the
// only one that no other calls, if that is empty; array_result.h) and takes in its plain form,
// which computes the same:
// - a container is a pointer and a size. Where the function only looks at its elements, its size
//   and its ends, it does so by these; else the container that it had is made at its beginning;
// - a struct with containers is its fields (struct_of_arrays.h);
// - a vector of vectors is a pointer and two sizes (rows_parameter.h);
// - a reference is a value or a pointer, and is made again at its beginning;
// - a single struct with whole numbers, as sizes are, is a number for each field: of those that are
//   read, where nothing else is done with it, or it is made again of all; by a pointer only the
//   former, of floating-point numbers too.
// It is the code as it is where there is nothing to change, no such function, several of its name,
// it is called in the file, or a parameter has no name. `name` is the file's. INVALID_ARGUMENT
// "NAME:LINE: WHAT": a container that it may change in another way than by its elements.
absl::StatusOr<PlainSource> MakePlain(const std::string& code, const std::string& name,
                                      const std::string& function);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_PLAIN_SOURCE_H_
