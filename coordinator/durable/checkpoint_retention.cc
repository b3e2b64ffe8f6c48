#include "coordinator/durable/checkpoint_retention.h"

#include <cstddef>
#include <optional>

#include "absl/strings/str_split.h"

namespace whetstone {
namespace {

// Both may be spelled with more slashes than they need.
bool LiesIn(const std::string& path, const std::string& folder) {
  const auto parts = [](const std::string& of) -> std::vector<std::string> {
    return absl::StrSplit(of, '/', absl::SkipEmpty());
  };
  std::vector<std::string> above = parts(path);
  if (above.empty()) return false;
  above.pop_back();
  return above == parts(folder);
}

}  // namespace

std::vector<std::string> ObsoleteCheckpoints(const CampaignPlan& plan,
                                             const DurableState& durable) {
  const std::vector<CheckpointEntry>& saved = durable.checkpoints();
  const size_t keep = static_cast<size_t>(plan.campaign.checkpoint().keep());
  if (saved.size() <= keep) return {};
  std::optional<size_t> best;
  const bool by_evaluation = plan.campaign.checkpoint().best_by() == "eval";
  const auto score = [&](size_t i) {
    return by_evaluation ? durable.CheckpointEvaluation(i) : durable.CheckpointReward(i);
  };
  for (size_t i = 0; plan.campaign.checkpoint().keep_best() && i < saved.size(); ++i) {
    if (score(i) && (!best || *score(i) >= *score(*best))) best = i;
  }
  std::vector<std::string> obsolete;
  for (size_t i = 0; i + keep < saved.size(); ++i) {
    // A copy of a run leaves the original's alone.
    if (!LiesIn(saved[i].path, plan.checkpoint_dir)) continue;
    // The reference of a KL penalty is read again after a restart.
    if (i != best && saved[i].path != plan.ReferencePath()) obsolete.push_back(saved[i].path);
  }
  return obsolete;
}

}  // namespace whetstone
