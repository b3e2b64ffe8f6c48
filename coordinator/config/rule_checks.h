// What the rules between a campaign's keys are made of. Every error is INVALID_ARGUMENT and says
// "FILE:LINE: 'key' what is wrong".
#ifndef WHETSTONE_COORDINATOR_CONFIG_RULE_CHECKS_H_
#define WHETSTONE_COORDINATOR_CONFIG_RULE_CHECKS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace whetstone {

class RuleChecks {
 public:
  // `where` says where a key was given.
  explicit RuleChecks(std::function<std::string(const std::string& key)> where)
      : where_(std::move(where)) {}

  absl::Status Wrong(const std::string& key, absl::string_view what) const;
  absl::Status OneOf(const std::string& key, const std::string& value,
                     const std::vector<std::string>& words) const;
  absl::Status AtLeast(const std::string& key, double value, double least) const;
  absl::Status Positive(const std::string& key, double value) const;
  // Fails unless lo <= value < hi.
  absl::Status Within(const std::string& key, double value, double lo, double hi) const;
  absl::Status AbsolutePath(const std::string& key, const std::string& path,
                            absl::string_view on) const;

 private:
  const std::function<std::string(const std::string& key)> where_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CONFIG_RULE_CHECKS_H_
