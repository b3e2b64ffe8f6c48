#include "coordinator/config/rule_checks.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/yaml/yaml_message.h"

namespace whetstone {

absl::Status RuleChecks::Wrong(const std::string& key, absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(where_(key), ": '", key, "' ", what));
}

absl::Status RuleChecks::OneOf(const std::string& key, const std::string& value,
                               const std::vector<std::string>& words) const {
  if (std::find(words.begin(), words.end(), value) != words.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(where_(key), ": ", NotOneOf(key, value, words)));
}

absl::Status RuleChecks::AtLeast(const std::string& key, double value, double least) const {
  if (value >= least) return absl::OkStatus();
  return Wrong(key, absl::StrCat("must be at least ", least, ", not ", value));
}

absl::Status RuleChecks::Positive(const std::string& key, double value) const {
  if (value > 0) return absl::OkStatus();
  return Wrong(key, absl::StrCat("must be greater than 0, not ", value));
}

absl::Status RuleChecks::Within(const std::string& key, double value, double lo, double hi) const {
  if (value >= lo && value < hi) return absl::OkStatus();
  return Wrong(key, absl::StrCat("must be at least ", lo, " and below ", hi, ", not ", value));
}

absl::Status RuleChecks::AbsolutePath(const std::string& key, const std::string& path,
                                      absl::string_view on) const {
  if (absl::StartsWith(path, "/")) return absl::OkStatus();
  return Wrong(key, absl::StrCat("must be an absolute path ", on, ", not '", path, "'"));
}

}  // namespace whetstone
