// The keys `types`, `type` and `fill` of the front matter say what elements are and how they are
// filled.
//
//   types:
//     Body: {x: f32, y: f32, id: i32}      # or m: f32[3][3], name: char[16]
//   args:
//     bodies: {type: Body, shape: [n], fill: {x: uniform(-1, 1), y: uniform(-1, 1), id: iota}}
#ifndef WHETSTONE_COORDINATOR_PROMPT_TYPES_H_
#define WHETSTONE_COORDINATOR_PROMPT_TYPES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/problem/struct_type.h"
#include "coordinator/prompt/front_matter.h"
#include "coordinator/prompt/signature.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Fills problem->structs. INVALID_ARGUMENT, here and below: "FILE:LINE: what is wrong".
absl::Status ReadTypes(const FrontMatter& front, v1::Problem* problem);
// Fails at the line of a struct that the signature does not name.
absl::Status CheckTypesUsed(const FrontMatter& front, const v1::Problem& problem,
                            const Signature& signature);

// Returns the element type `name`, which stands at `key` and must be what the signature has:
// `cpp_type` for `what` ("'a' is", "returns").
absl::StatusOr<ElementLayout> ReadType(const FrontMatter& front, const std::string& key,
                                       const std::string& name, const v1::Problem& problem,
                                       const std::string& what, const std::string& cpp_type);
// Returns `fill`, which stands at `key`, as one fill for each FieldLayout of `element`. What a
// field has stands for all its numbers, a plain value for every field.
absl::StatusOr<std::vector<v1::Fill>> ReadFills(const FrontMatter& front, const std::string& key,
                                                const v1::FrontMatter::Fill& fill,
                                                const ElementLayout& element);

// Writes what ReadType and ReadFills gave into a v1::Scalar, v1::Array or v1::ReturnValue.
template <typename Typed>
void SetElement(const ElementLayout& element, Typed* typed) {
  if (element.is_struct()) {
    typed->set_struct_type(element.struct_name);
  } else {
    typed->set_type(element.fields[0].type);
  }
}
template <typename Filled>
void SetFills(const ElementLayout& element, const std::vector<v1::Fill>& fills, Filled* filled) {
  if (!element.is_struct()) {
    *filled->mutable_fill() = fills[0];
    return;
  }
  for (const v1::Fill& fill : fills) *filled->add_field_fills() = fill;
}

// Returns what stands in `filled`, of a problem that was read: each field of its element and the
// field's fill, which is null where the generator writes it or nothing does.
template <typename Filled>
std::vector<std::pair<FieldLayout, const v1::Fill*>> FilledFields(const v1::Problem& problem,
                                                                  const Filled& filled) {
  std::vector<std::pair<FieldLayout, const v1::Fill*>> result;
  const ElementLayout element = LayoutIn(problem, filled).value_or(ElementLayout());
  for (size_t f = 0; f < element.fields.size(); ++f) {
    const v1::Fill* fill = nullptr;
    if (filled.has_fill()) fill = &filled.fill();
    if (filled.field_fills_size() > 0) fill = &filled.field_fills(static_cast<int>(f));
    result.emplace_back(element.fields[f], fill);
  }
  return result;
}

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_TYPES_H_
