// An element of a problem's data may be a struct of numbers instead of a plain number. The prompt
// file names a struct's fields; its C++ text and its layout follow from them, so that the two
// cannot disagree. A field may be an array of numbers.
//
//   types: {Body: {x: f32, y: f32, m: f64[3][3]}}      in a prompt file
//   struct Body {                                      StructText
//       float x, y;
//       double m[3][3];
//   };
//
// All functions are pure and thread-safe.
#ifndef WHETSTONE_COMMON_PROBLEM_STRUCT_TYPE_H_
#define WHETSTONE_COMMON_PROBLEM_STRUCT_TYPE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Of all its numbers a struct has at most so many bytes, padding included.
inline constexpr size_t kStructBytesMax = 4096;

// A FieldLayout is one number of an element.
struct FieldLayout {
  std::string name;  // "x"; of a field that is an array "m[0][2]"
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  size_t offset = 0;  // bytes
};

struct ElementLayout {
  std::string struct_name;          // empty: a plain number
  std::vector<FieldLayout> fields;  // of a plain number one, without a name; of nothing none
  size_t bytes = 0;                 // padding included
  size_t alignment = 1;

  bool is_struct() const { return !struct_name.empty(); }
};

// Returns the field that a FieldLayout is of: "m" of "m[0][2]".
absl::string_view FieldNameOf(const FieldLayout& layout);

// Lays a struct out as every supported compiler does: each number at the next multiple of its own
// size. Of an array that is too large for kStructBytesMax there are only as many numbers as show
// it.
ElementLayout LayoutOf(const v1::StructType& type);
ElementLayout LayoutOf(v1::ElementType type);

// Returns the element that a v1::Scalar, v1::Array or v1::ReturnValue of `problem` names.
// INVALID_ARGUMENT: no type, or a struct that the problem does not have.
absl::StatusOr<ElementLayout> LayoutIn(const v1::Problem& problem, v1::ElementType type,
                                       absl::string_view struct_type);
template <typename Typed>
absl::StatusOr<ElementLayout> LayoutIn(const v1::Problem& problem, const Typed& typed) {
  return LayoutIn(problem, typed.type(), typed.struct_type());
}

// Returns the problem's struct of that name; null if it has none.
const v1::StructType* FindStruct(const v1::Problem& problem, absl::string_view name);

// Returns the type of a field as a prompt file has it: "f32", "f64[3][3]", "char[16]".
std::string FieldTypeName(const v1::StructType::Field& field);

// Returns the definitions of all structs of `problem`; empty if it has none.
std::string StructText(const v1::Problem& problem);

// A StructDefinition is a struct that C++ text defines at global scope.
struct StructDefinition {
  std::string name;
  size_t begin = 0;  // of "struct X { … };" in the text
  size_t end = 0;
  int line = 0;
  // There is no type if a member is anything but a number or an array of numbers: a pointer, a
  // function … Extents are made of literals and of constants that the text defines before it.
  std::optional<v1::StructType> type = {};
};
std::vector<StructDefinition> FindStructs(absl::string_view code);

// Says whether both have the same fields in the same order, as C++ sees them; but char is i8.
bool SameStruct(const v1::StructType& a, const v1::StructType& b);

// Says whether `definition` is one of the problem's structs, written again.
bool IsStructOf(const v1::Problem& problem, const StructDefinition& definition);

// Returns `code` with spaces in place of every definition of one of the problem's structs, where it
// is the same struct: a program may repeat what it was shown, though it finds it defined. Lines
// stay.
std::string WithoutStructs(absl::string_view code, const v1::Problem& problem);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_PROBLEM_STRUCT_TYPE_H_
