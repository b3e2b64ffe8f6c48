// A CppSource is as much of a C++ source as an import needs: where its functions are and what it
// includes. It is no parser: macros and preprocessor conditions are not followed.
#ifndef WHETSTONE_COORDINATOR_PROMPT_CPP_SOURCE_H_
#define WHETSTONE_COORDINATOR_PROMPT_CPP_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

struct CppFunction {
  std::string signature;  // on one line, without __restrict: "void scale(const float* a, int n)"
  int line = 0;           // where its name stands
  size_t head = 0;        // of the source's bytes, the first of the signature,
  size_t open = 0;        // the '{' of the body
  size_t close = 0;       // and its '}'
};

struct CppSource {
  // These are the functions at global scope that other files can call, whether or not a problem
  // could.
  std::vector<CppFunction> functions;
  std::vector<std::string> headers;  // of #include <…>, in order
};

// INVALID_ARGUMENT "NAME:LINE: WHAT": an include of a file by "…", a main function, or braces that
// do not match.
absl::StatusOr<CppSource> ReadCppSource(absl::string_view code, absl::string_view name);

// Returns the name of a function, of its signature.
std::string NameOfFunction(absl::string_view signature);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_CPP_SOURCE_H_
