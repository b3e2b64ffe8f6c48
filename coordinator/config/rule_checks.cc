#include "coordinator/config/rule_checks.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace whetstone {

absl::Status RuleChecks::Wrong(const std::string& key, absl::string_view what) const {
  return ErrorAt(place_(key), absl::StrCat("'", key, "' ", what));
}

absl::Status RuleChecks::AbsolutePath(const std::string& key, const std::string& path,
                                      absl::string_view on) const {
  if (absl::StartsWith(path, "/")) return absl::OkStatus();
  return Wrong(key, absl::StrCat("must be an absolute path ", on, ", not '", path, "'"));
}

}  // namespace whetstone
