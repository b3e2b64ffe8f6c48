// These functions give facts about the element types of a problem's data.
#ifndef WHETSTONE_COMMON_PROBLEM_ELEMENT_TYPE_H_
#define WHETSTONE_COMMON_PROBLEM_ELEMENT_TYPE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Returns 0 for an unspecified or unknown type.
size_t ElementBytes(v1::ElementType type);
bool IsFloating(v1::ElementType type);
bool IsSigned(v1::ElementType type);

// The names are "f32" for F32 and so on. Parsing gives ELEMENT_TYPE_UNSPECIFIED for an unknown
// name.
std::string ElementTypeName(v1::ElementType type);
v1::ElementType ParseElementType(absl::string_view name);
const std::vector<std::string>& ElementTypeNames();

// Returns the C++ type that holds it: "float", "unsigned char" …; bf16 travels as "unsigned short".
std::string CppType(v1::ElementType type);
// Returns the type that a C++ name means on every supported host (LP64), whichever of its usual
// names it is: "unsigned", "int32_t", "size_t" …; bf16 is never meant. It is unspecified for any
// other name.
v1::ElementType ElementTypeOfCpp(absl::string_view cpp_name);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_PROBLEM_ELEMENT_TYPE_H_
