#include "coordinator/rewrites/array_extents.h"

#include <nlohmann/json.hpp>

#include "common/file.h"
#include "common/problem/compile_flags.h"
#include "common/status_macros.h"
#include "coordinator/rewrites/rewriter_call.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

absl::StatusOr<ArrayExtents> ArrayExtentsOf(const std::string& code,
                                            const std::vector<std::string>& headers,
                                            const std::string& function) {
  v1::CompileRules rules;
  rules.set_std("c++20");
  const nlohmann::json request = {
      {"flags", ParserFlags(rules)}, {"headers", headers}, {"structs", ""},
      {"function", function},        {"sources", {code}},  {"extents", true}};
  ASSIGN_OR_RETURN(const TempDir dir, TempDir::Make("extents"));
  ASSIGN_OR_RETURN(const std::string text, CallRewriter(request.dump(), dir.path(), function, {}));
  const nlohmann::json answer = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  ArrayExtents extents;
  try {
    if (const auto why = answer.at("refused").at(0).get<std::string>(); !why.empty()) {
      return absl::FailedPreconditionError(why);
    }
    answer.at("extents").at(0).at("arrays").get_to(extents.arrays);
    answer.at("extents").at(0).at("sizes").get_to(extents.sizes);
  } catch (const nlohmann::json::exception&) {
    return OutsideTheProtocol();
  }
  return extents;
}

}  // namespace whetstone
