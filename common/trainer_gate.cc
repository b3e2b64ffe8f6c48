#include "common/trainer_gate.h"

#include <cstdint>
#include <random>

#include "common/status_macros.h"

namespace whetstone {
namespace {

// Another process that draws the same, or this one once more, is out of the question.
uint64_t NewEpoch() {
  std::random_device random;
  return uint64_t{random()} << 32 | random() | 1;
}

}  // namespace

absl::StatusOr<TrainerHolder> TrainerGate::Load(
    const std::string& campaign_id, bool steal,
    const std::function<absl::Status(const TrainerHolder&)>& load) {
  const TrainerHolder by{.campaign_id = campaign_id, .epoch = campaign_id.empty() ? 0 : NewEpoch()};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    RETURN_IF_ERROR(lease_.Claim(by, steal, Now()));
  }
  const absl::Status loaded = load(by);
  if (loaded.ok()) return by;
  const std::lock_guard<std::mutex> lock(mutex_);
  lease_.Settle(by, /*loaded=*/false, Now());
  return loaded;
}

void TrainerGate::Loaded(const TrainerHolder& by) {
  const std::lock_guard<std::mutex> lock(mutex_);
  lease_.Settle(by, /*loaded=*/true, Now());
}

absl::StatusOr<std::shared_ptr<void>> TrainerGate::Begin(const TrainerHolder& caller) {
  const std::lock_guard<std::mutex> lock(mutex_);
  RETURN_IF_ERROR(lease_.Begin(caller, Now()));
  return std::shared_ptr<void>(nullptr, [this, caller](void*) {
    const std::lock_guard<std::mutex> end_lock(mutex_);
    lease_.End(caller, Now());
  });
}

absl::Status TrainerGate::Check(const TrainerHolder& caller) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return lease_.Check(caller);
}

void TrainerGate::Hear(const TrainerHolder& caller, bool release) {
  const std::lock_guard<std::mutex> lock(mutex_);
  lease_.Hear(caller, release, Now());
}

TrainerGate::Holding TrainerGate::holding() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const double now = Now();
  Holding holding{.campaign_id = lease_.HeldBy(now)};
  if (!holding.campaign_id.empty()) holding.heard_s = lease_.HeardAgo(now);
  return holding;
}

}  // namespace whetstone
