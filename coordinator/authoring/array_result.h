// A problem's function writes to arrays and returns a number. What people write returns a vector,
// or lets one grow that it is given: an import makes that an array and how much of it is used.
//
//   std::vector<int> peaks(const double* x, int n) {
//     std::vector<int> found;
//     for (int i = 1; i + 1 < n; ++i) if (x[i] > x[i - 1]) found.push_back(i);
//     return found;
//   }
//
//   size_t peaks(const double* x, int n, int* found) {
//     size_t found_size = 0;
//     for (int i = 1; i + 1 < n; ++i) if (x[i] > x[i - 1]) found[found_size++] = i;
//     return found_size;
//   }
#ifndef WHETSTONE_COORDINATOR_AUTHORING_ARRAY_RESULT_H_
#define WHETSTONE_COORDINATOR_AUTHORING_ARRAY_RESULT_H_

#include <optional>
#include <string>

#include "coordinator/prompt/cpp_source.h"

namespace whetstone {

struct ArrayResult {
  std::string code;
  std::string change;  // as of PlainSource
};

// Returns `code` with an array for the vector or string that `function` returns, or for one that it
// is given and that it clears, or gives a length, before it does anything else with it. The array
// is the last parameter, or in the parameter's place; where the vector grows, the function returns
// how long it is in the end. Nothing: there is none such, it is used in another way than by its
// elements, its ends and what makes it longer or shorter at its end, or the function returns
// something else, too.
std::optional<ArrayResult> WithArrayResult(const std::string& code, const CppFunction& function);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_ARRAY_RESULT_H_
