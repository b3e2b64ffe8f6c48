#include "common/problem/sized_fill.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/problem/expression.h"
#include "common/status_macros.h"

namespace whetstone {

absl::StatusOr<v1::Fill> FillAt(const v1::Fill& fill, const std::map<std::string, int64_t>& sizes) {
  if (fill.bounds().empty()) return fill;
  v1::Fill sized;
  sized.set_kind(fill.kind());
  for (const std::string& bound : fill.bounds()) {
    ASSIGN_OR_RETURN(const Expression expression, Expression::Parse(bound));
    ASSIGN_OR_RETURN(const int64_t value, expression.Evaluate(sizes));
    sized.add_parameters(static_cast<double>(value));
  }
  if (sized.parameters_size() == 2 && sized.parameters(0) > sized.parameters(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the range (", absl::StrJoin(fill.bounds(), ", "),
                     ") is empty: ", sized.parameters(0), " > ", sized.parameters(1)));
  }
  return sized;
}

}  // namespace whetstone
