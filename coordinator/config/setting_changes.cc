#include "coordinator/config/setting_changes.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/yaml/yaml_writer.h"

namespace whetstone {

std::vector<SettingChange> SettingChanges(const v1::Campaign& before, const v1::Campaign& after) {
  std::map<std::string, SettingChange> keys;
  for (const auto& [key, value] : FlatYaml(before)) keys[key].before = value;
  for (const auto& [key, value] : FlatYaml(after)) keys[key].after = value;
  std::vector<SettingChange> changes;
  for (auto& [key, change] : keys) {
    if (change.before == change.after) continue;
    change.key = key;
    changes.push_back(std::move(change));
  }
  return changes;
}

std::string SettingChangesText(const std::vector<SettingChange>& changes) {
  const auto text = [](std::string* out, const SettingChange& change) {
    absl::StrAppend(out, change.key, " ", change.before.empty() ? "(none)" : change.before, " -> ",
                    change.after.empty() ? "(none)" : change.after);
  };
  return absl::StrJoin(changes, ", ", text);
}

}  // namespace whetstone
