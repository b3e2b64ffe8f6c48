// Inputs that must fit together (a permutation, a tree, a program for an interpreter) are drawn by
// no fill: the operator brings a function that makes them, `void generate(…, unsigned long long
// seed)`, which becomes the problem's `generator` section.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_INPUT_GENERATOR_H_
#define WHETSTONE_COORDINATOR_AUTHORING_INPUT_GENERATOR_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/authoring/imported_function.h"

namespace whetstone {

struct InputGenerator {
  std::string code;                  // without definitions of the function's structs
  std::vector<std::string> headers;  // that the function or it includes
  std::set<std::string> writes;      // the function's arrays that it names: it fills these
};

// Returns how the generator of a function is declared: "void generate(int* order, int n, unsigned
// long long seed)".
std::string GeneratorHead(const Signature& signature);

// Returns "; inputs that must fit together a function of yours makes: --generator FILE with HEAD".
std::string GeneratorAdvice(const Signature& signature);

// Reads the generator of `function`, which includes `headers`, from a source; `name` is the file's,
// for messages. INVALID_ARGUMENT "NAME:LINE: WHAT": it defines no such function.
absl::StatusOr<InputGenerator> ReadInputGenerator(const std::string& code, const std::string& name,
                                                  std::vector<std::string> headers,
                                                  const ImportedFunction& function);

// A function that makes its arrays itself, with three seeds, and calls `function` with them: as it
// writes all of them, how long they are is how far it writes.
struct SelfSufficient {
  std::string code;
  ImportedFunction function;
};
SelfSufficient WithItsInputs(const std::string& code, const ImportedFunction& function,
                             const InputGenerator& generator);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_INPUT_GENERATOR_H_
