// A TrainerLease says which campaign holds a trainer: the rules of
// proto/whetstone/v1/trainer.proto, for whatever serves it. It is pure: `now` is seconds of a clock
// that never goes back, and epochs are the caller's to draw.
//
//   TrainerLease lease;
//   RETURN_IF_ERROR(lease.Claim({"a-1", epoch}, /*steal=*/false, now));   // and load, then
//   lease.Settle({"a-1", epoch}, /*loaded=*/true, later);
//   RETURN_IF_ERROR(lease.Begin({"a-1", epoch}, later));                  // a call of it
//   lease.End({"a-1", epoch}, end);
#ifndef WHETSTONE_COMMON_TRAINER_LEASE_H_
#define WHETSTONE_COMMON_TRAINER_LEASE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace whetstone {

// A TrainerHolder is a campaign that holds a trainer, by one load of its policy. Without a campaign
// it is whoever loads without telling a name, and has no epoch.
struct TrainerHolder {
  std::string campaign_id;
  uint64_t epoch = 0;
  bool operator==(const TrainerHolder&) const = default;
};
// Returns whom `holder`, a v1::Holder, names.
template <typename Message>
TrainerHolder HolderOf(const Message& holder) {
  return {.campaign_id = holder.campaign_id(), .epoch = holder.epoch()};
}

// It is not thread-safe.
class TrainerLease {
 public:
  // A holder is alive for so many seconds after it was last heard of: several times what lies
  // between two signs of life, and less than a campaign that wants the trainer waits for it.
  static constexpr double kSeconds = 60;

  // The load of `by`, whose epoch is new, begins, and is its first call: the holder before is
  // refused from now on. FAILED_PRECONDITION: another campaign holds the trainer, and is not to be
  // stolen from.
  absl::Status Claim(const TrainerHolder& by, bool steal, double now);
  // The load that `by` claimed for has ended. One that failed leaves all as it was before; one that
  // another has claimed the trainer from meanwhile is what a failure of that one leaves.
  void Settle(const TrainerHolder& by, bool loaded, double now);

  // OK for the holder. ABORTED: another has claimed the trainer since; it is named.
  // FAILED_PRECONDITION: nobody holds it, or the caller is nobody and somebody does.
  absl::Status Check(const TrainerHolder& caller) const;
  // A call of `caller` begins, if Check lets it, and ends.
  absl::Status Begin(const TrainerHolder& caller, double now);
  void End(const TrainerHolder& caller, double now);
  // `caller` lives or, with `release`, needs the trainer no longer. Nothing if it is not the
  // holder, nor is it again should the load that runs fail.
  void Hear(const TrainerHolder& caller, bool release, double now);

  // Returns the campaign that holds the trainer, and how long ago it was heard of; empty if nobody
  // does or it is not alive.
  std::string HeldBy(double now) const;
  double HeardAgo(double now) const { return state_.calls > 0 ? 0 : now - state_.heard; }

 private:
  struct State {
    // Without an epoch its campaign has given the trainer back.
    TrainerHolder holder;
    double heard = 0;
    int calls = 0;  // that run
  };

  State state_;
  bool loading_ = false;  // what state_'s holder claimed for
  State before_;          // of the policy that is there as long as that has not succeeded
};

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_TRAINER_LEASE_H_
