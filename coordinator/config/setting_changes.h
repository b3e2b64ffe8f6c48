// Settings that change in the course of a run: what differs between two campaigns, key by key, and
// which keys may.
//
//   ASSIGN_OR_RETURN(const v1::Campaign changed, ChangedCampaign(campaign, {"train.lr=2e-6"}));
//
// Every key of a campaign has its rule in one table (setting_changes.cc).
#ifndef WHETSTONE_COORDINATOR_CONFIG_SETTING_CHANGES_H_
#define WHETSTONE_COORDINATOR_CONFIG_SETTING_CHANGES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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

// From when on a changed setting of a campaign that has begun counts.
enum class ChangeCounts {
  kNever,        // it may not change
  kFromStart,    // from the start of `whet` that changes it: it decides nothing of what was done
  kRoughly,      // the same, but it decides last bits: not where `deterministic` is set
  kFromNextStep  // from the first step of which nothing is there yet
};

struct SettingRule {
  absl::string_view key;  // or the section that it stands for
  ChangeCounts counts = ChangeCounts::kNever;
  absl::string_view why_not = "";  // of those that never change
};

// Returns the rule of a key; null: there is none, which is a programmer's omission.
const SettingRule* RuleOf(absl::string_view key);

// INVALID_ARGUMENT: a campaign that has begun can not have this change, which alone need not keep
// the rules between keys; says why.
absl::Status CheckMayChange(const SettingChange& change, bool deterministic);

// Returns the campaign with these --set applied, whether they may be or not. INVALID_ARGUMENT: they
// can not be read, or a rule between keys is broken.
absl::StatusOr<v1::Campaign> WithSettings(const v1::Campaign& campaign,
                                          const std::vector<std::string>& sets);

// Does the same for a campaign that has begun. INVALID_ARGUMENT also: a key whose value differs may
// not change; says why.
absl::StatusOr<v1::Campaign> ChangedCampaign(const v1::Campaign& campaign,
                                             const std::vector<std::string>& sets);

// Says whether a --set is of a key that says how an endpoint is asked, and decides nothing of what
// comes out.
bool SaysHowAnEndpointIsAsked(absl::string_view set);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CONFIG_SETTING_CHANGES_H_
