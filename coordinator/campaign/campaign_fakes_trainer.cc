// Who holds the world's trainer, and what it has loaded.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/campaign/campaign_fakes.h"

namespace whetstone {

std::string World::LiveTogether(const std::vector<World*>& worlds) {
  for (World* world : worlds) world->Start();
  std::vector<World*> living = worlds;
  while (!living.empty()) {
    const auto next = std::min_element(
        living.begin(), living.end(), [](World* a, World* b) { return a->NextAt() < b->NextAt(); });
    if (!(*next)->Advance()) living.erase(next);
  }
  for (World* world : worlds) {
    if (std::string broken = world->Judge(); !broken.empty()) return broken;
  }
  return "";
}

void World::EndTrainer() {
  policy_ = {};
  trainer_.lease = {};
}

bool World::LetThrough(uint64_t call, const v1::Holder& holder) {
  const absl::Status refused = trainer_.lease.Begin(HolderOf(holder), now_);
  if (!refused.ok()) {
    After(0.1, event::CallFailed{call, refused});
    return false;
  }
  trainer_.lease.End(HolderOf(holder), now_);
  return true;
}

absl::Status World::Load(const action::LoadPolicy& a) {
  if (a.path.empty()) {
    if (policy_.campaign_id == plan_.campaign_id) return absl::OkStatus();
    return absl::FailedPreconditionError("it is another campaign's");
  }
  Policy loaded;
  if (a.path != plan_.campaign.model()) {
    const auto found = checkpoints_.find(a.path);
    if (found == checkpoints_.end()) return absl::NotFoundError(a.path);
    loaded = found->second;
    if (absl::StrCat(loaded.updates.size()) != a.checksum) {
      return absl::DataLossError(a.path + " is another one");
    }
  }
  loaded.campaign_id = plan_.campaign_id;
  loaded.model = a.path;
  policy_ = std::move(loaded);
  return absl::OkStatus();
}

void World::TellPolicy(v1::TrainerInfo* info) const {
  info->set_campaign_id(policy_.campaign_id);
  info->set_model(policy_.model);
  if (policy_.last) *info->mutable_last_update() = *policy_.last;
  info->set_held_by(trainer_.lease.HeldBy(now_));
  info->set_heard_s(trainer_.lease.HeardAgo(now_));
}

void World::Do(const action::ReleaseTrainer& a) {
  trainer_.lease.Hear(HolderOf(a.holder), /*release=*/true, now_);
}

}  // namespace whetstone
