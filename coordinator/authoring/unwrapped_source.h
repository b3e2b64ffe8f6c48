// A problem's function stands by itself, at global scope and with types that are known. What people
// write stands in a namespace, is a template, or is static: an import takes it out.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_UNWRAPPED_SOURCE_H_
#define WHETSTONE_COORDINATOR_AUTHORING_UNWRAPPED_SOURCE_H_

#include <string>
#include <vector>

namespace whetstone {

struct UnwrappedSource {
  std::string code;
  // What was changed: "what was in namespace 'dsp' is outside of it".
  std::vector<std::string> changes;
};

// Returns `code` without
// - named namespaces and their names before `::`; those without a name stay;
// - aliases of types at global scope, which stand in their places;
// - `static`, `inline` and `constexpr` before `function`, or if that is empty the only one that no
//   other one calls; the others are static;
// - templates of one type, T: functions and structs, which get the one type that the file
//   instantiates explicitly (`template float f<float>(…);`), double, or int of an integral T.
// It is the code as it is where there is nothing of that, or a template of another kind.
UnwrappedSource Unwrapped(const std::string& code, const std::string& function);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_UNWRAPPED_SOURCE_H_
