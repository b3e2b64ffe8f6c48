// In this dialect of YAML values may be calls: in flow style a comma inside parentheses is part of
// the value, as in {fill: uniform(-1, 1), shape: [min(n, 2), n]}; plain YAML would split there. So
// are brackets right behind a word, as in {m: f64[3][3]}, which plain YAML refuses.
//
//   ASSIGN_OR_RETURN(std::string yaml, HideCallCommas(text, "p.md", /*first_line=*/2));
//   YAML::Node node = YAML::Load(yaml);              // has the lines of `text`
//   ShowCallCommas(node["fill"].Scalar());           // "uniform(-1, 1)"
//
// Both functions are pure and thread-safe.
#ifndef WHETSTONE_COORDINATOR_YAML_CALL_COMMAS_H_
#define WHETSTONE_COORDINATOR_YAML_CALL_COMMAS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// Puts a private-use character in place of each such comma and bracket; everything else stays as it
// is.
// INVALID_ARGUMENT "NAME:LINE: WHAT" (common/source_place.h), the text's first line being
// `first_line`: a collection that is never closed, more than eight collections in each other (no
// recursive reader may see a hostile depth), or such a character in the text.
absl::StatusOr<std::string> HideCallCommas(absl::string_view text, absl::string_view name,
                                           int first_line);

// Returns a scalar of the text that came back, with its commas and brackets.
std::string ShowCallCommas(const std::string& scalar);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_YAML_CALL_COMMAS_H_
