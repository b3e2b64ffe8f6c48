// A parameter as C++ people write it: what its type is made of.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_GIVEN_PARAMETER_H_
#define WHETSTONE_COORDINATOR_AUTHORING_GIVEN_PARAMETER_H_

#include <string>
#include <vector>

namespace whetstone {

// A parameter, as the source has it: "const std::vector<double>&", "x".
struct GivenParameter {
  std::string type;
  std::string name;
};

// A type below its const and references.
struct GivenType {
  std::string core;     // "vector", "span", "string", "array", or the type itself
  std::string element;  // of these four
  std::string extent;   // of an array
  bool is_const = false;
  bool reference = false;
};

// Returns the parts of a list between commas that no bracket holds.
std::vector<std::string> SplitParameters(const std::string& list);
// Returns a parameter without its default value; an array is a pointer. It has no name where it is
// none that is known.
GivenParameter ReadParameter(const std::string& text);
GivenType ReadGivenType(const std::string& type);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_GIVEN_PARAMETER_H_
