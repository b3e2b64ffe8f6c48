#include "coordinator/durable/checkpoint_retention.h"

#include <cstddef>
#include <optional>

namespace whetstone {

std::vector<std::string> ObsoleteCheckpoints(const CampaignPlan& plan,
                                             const DurableState& durable) {
  const std::vector<CheckpointEntry>& saved = durable.checkpoints();
  const size_t keep = static_cast<size_t>(plan.campaign.checkpoint().keep());
  if (saved.size() <= keep) return {};
  std::optional<size_t> best;
  for (size_t i = 0; plan.campaign.checkpoint().keep_best() && i < saved.size(); ++i) {
    const std::optional<double> reward = durable.CheckpointReward(i);
    if (reward && (!best || *reward >= *durable.CheckpointReward(*best))) best = i;
  }
  std::vector<std::string> obsolete;
  for (size_t i = 0; i + keep < saved.size(); ++i) {
    // The reference of a KL penalty is read again after a restart.
    if (i != best && saved[i].path != plan.ReferencePath()) obsolete.push_back(saved[i].path);
  }
  return obsolete;
}

}  // namespace whetstone
