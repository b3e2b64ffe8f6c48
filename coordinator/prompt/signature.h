// A Signature is the C++ declaration a candidate must define, read into its parts.
//
//   auto s = ParseSignature("void matmul(const float* a, const float* b, float* c, int n)");
//   s->name;                  // "matmul"
//   s->parameters[0].pointer; // true
//
// It knows only what a problem needs: one function of numbers, by their built-in or <cstdint>
// names, of structs, and of single pointers to either. All functions are pure and thread-safe.
#ifndef WHETSTONE_COORDINATOR_PROMPT_SIGNATURE_H_
#define WHETSTONE_COORDINATOR_PROMPT_SIGNATURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/problem/element_type.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

struct Parameter {
  std::string type;  // without const and '*', as normalized by ParseSignature: "unsigned int"
  bool is_const = false;
  bool pointer = false;
  std::string name;
};

struct Signature {
  std::string return_type;  // "void" or as Parameter.type
  std::string name;
  std::vector<Parameter> parameters;

  // Says whether a parameter or the returned value is of that type.
  bool Names(const std::string& type) const;
};

// `structs` are names that are types too. INVALID_ARGUMENT says what is wrong and at which column.
absl::StatusOr<Signature> ParseSignature(absl::string_view text,
                                         const std::vector<std::string>& structs = {});
// Parses the signature of `problem`, which may name its structs.
absl::StatusOr<Signature> ParseSignature(const v1::Problem& problem);

// Says whether a C++ type (as in Parameter.type) holds elements of `type`. bf16 travels as 16-bit
// unsigned integers; char holds i8 and u8.
bool TypeHolds(absl::string_view cpp_type, v1::ElementType type);

// Returns a bound of the inclusive range of an integer type, as a double; it has no meaning for
// floating types.
double IntegerMin(v1::ElementType type);
double IntegerMax(v1::ElementType type);
// Returns the largest value that a C++ integer type can hold; 0 for a type that is no integer.
int64_t CppIntegerMax(absl::string_view cpp_type);

// Says whether `word` is [A-Za-z_][A-Za-z0-9_]* and not a keyword of C++20.
bool IsIdentifier(absl::string_view word);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_SIGNATURE_H_
