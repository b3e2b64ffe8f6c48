// What differs between two campaigns, key by key.
#ifndef WHETSTONE_COORDINATOR_CONFIG_SETTING_CHANGES_H_
#define WHETSTONE_COORDINATOR_CONFIG_SETTING_CHANGES_H_

#include <string>
#include <vector>

#include "whetstone/v1/campaign.pb.h"

namespace whetstone {

// A key's values are as --set takes them; empty where the key's section is not there.
struct SettingChange {
  std::string key;
  std::string before;
  std::string after;
};

// Returns the keys in which `after` differs, sorted.
std::vector<SettingChange> SettingChanges(const v1::Campaign& before, const v1::Campaign& after);

// Returns "train.lr 1e-05 -> 2e-05, train.steps 40 -> 80".
std::string SettingChangesText(const std::vector<SettingChange>& changes);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CONFIG_SETTING_CHANGES_H_
