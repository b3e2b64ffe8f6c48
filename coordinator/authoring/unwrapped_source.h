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
// - named namespaces, unless two functions, or one and one of the library's, have one name then;
//   what stands behind `name::` is of global scope, and those without a name stay;
// - the template of one type that `function` is (or if that is empty the only one that nothing else
//   calls), and those of structs that it takes: they get the type that the file instantiates
//   explicitly (`template float f<float>(…);`), double, or int of an integral T;
// - aliases of types at global scope, which stand in their places;
// - `static`, `inline` and `constexpr` before that function; the others are static.
// What is of another kind stays as it is.
UnwrappedSource Unwrapped(const std::string& code, const std::string& function);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_UNWRAPPED_SOURCE_H_
