// A problem's structs hold numbers. A parameter that people write is also a struct of vectors: an
// import hands over its fields.
//
//   struct Bodies { std::vector<double> x, m; int count; };
//   double mass(const Bodies& b)   { … b.m[i] … }
//   double mass(const std::vector<double>& b_m, …)   { … b_m[i] … }
#ifndef WHETSTONE_COORDINATOR_AUTHORING_STRUCT_OF_ARRAYS_H_
#define WHETSTONE_COORDINATOR_AUTHORING_STRUCT_OF_ARRAYS_H_

#include <optional>
#include <string>
#include <vector>

#include "coordinator/prompt/cpp_source.h"

namespace whetstone {

struct FieldsApart {
  std::string code;
  std::vector<std::string> changes;
};

// Returns `code` with a parameter for each field that `function` uses, in the place of each of its
// parameters that is a struct with containers and of which it only uses fields. Nothing: there is
// none such.
std::optional<FieldsApart> WithFieldsApart(const std::string& code, const CppFunction& function);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_STRUCT_OF_ARRAYS_H_
