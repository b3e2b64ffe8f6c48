// Inputs that must fit together (a permutation, a tree, a program for an interpreter) are drawn by
// no fill: the operator brings a function that makes them, `void generate(…, unsigned long long
// seed)`, which becomes the problem's `generator` section.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_INPUT_GENERATOR_H_
#define WHETSTONE_COORDINATOR_AUTHORING_INPUT_GENERATOR_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/authoring/imported_function.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {

// A generator as the operator gave it.
struct GivenGenerator {
  std::string name;  // the file's, for messages
  std::string code;
};

struct InputGenerator {
  std::string code;                  // without definitions of the function's structs
  std::vector<std::string> headers;  // that the function or it includes
};

// Returns how the generator of a function is declared: "void generate(int* order, int n, unsigned
// long long seed)".
std::string GeneratorHead(const Signature& signature);
// Returns "; inputs that must fit together a function of yours makes: --generator FILE with
// 'void generate(…)'".
std::string GeneratorAdvice(const Signature& signature);

// Returns the generator of `function`, which includes `headers`. INVALID_ARGUMENT "NAME:LINE:
// WHAT": the file defines no such function, or a struct otherwise than the function's file does.
absl::StatusOr<InputGenerator> ReadInputGenerator(const GivenGenerator& given,
                                                  std::vector<std::string> headers,
                                                  const ImportedFunction& function);

// A function that has the generator fill its arrays and calls `function` with them: how long those
// are that the generator fills is how far this one writes. What it has one parameter more for, a
// number that is drawn, is the seed.
struct SelfSufficient {
  std::string code;
  ImportedFunction function;
};
SelfSufficient WithItsInputs(const std::string& code, const ImportedFunction& function,
                             const InputGenerator& generator);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_INPUT_GENERATOR_H_
