// An import makes a problem of one function of a C++ source and the structs it names.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_IMPORTED_FUNCTION_H_
#define WHETSTONE_COORDINATOR_AUTHORING_IMPORTED_FUNCTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/prompt/cpp_source.h"
#include "coordinator/prompt/signature.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

struct ImportedFunction {
  Signature signature;
  std::string text;     // the signature as the source has it
  v1::Problem structs;  // has the structs that the signature names, and nothing else
};

// Finds the function `function` of `code`, or the only one if that is empty. `source` is `code` as
// ReadCppSource gives it; `name` is the file's, for messages. INVALID_ARGUMENT "NAME:LINE: WHAT":
// no function that a problem can call, several and none chosen, or a struct that holds more than
// numbers.
absl::StatusOr<ImportedFunction> FindImportedFunction(const CppSource& source,
                                                      const std::string& code,
                                                      const std::string& name,
                                                      const std::string& function);

// Returns `code` without the definitions of the function's structs: the prompt file has them in
// `types`.
std::string WithoutStructsOf(const ImportedFunction& function, std::string code);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_IMPORTED_FUNCTION_H_
