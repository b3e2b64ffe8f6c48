// What the rules between a campaign's keys are made of. Every error is INVALID_ARGUMENT and says
// "FILE:LINE: 'key' what is wrong", with that line (common/source_place.h).
#ifndef WHETSTONE_COORDINATOR_CONFIG_RULE_CHECKS_H_
#define WHETSTONE_COORDINATOR_CONFIG_RULE_CHECKS_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/source_place.h"

namespace whetstone {

class RuleChecks {
 public:
  // `place` says where a key was given.
  explicit RuleChecks(std::function<SourcePlace(const std::string& key)> place)
      : place_(std::move(place)) {}

  absl::Status Wrong(const std::string& key, absl::string_view what) const;
  absl::Status AbsolutePath(const std::string& key, const std::string& path,
                            absl::string_view on) const;

 private:
  const std::function<SourcePlace(const std::string& key)> place_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CONFIG_RULE_CHECKS_H_
