#include "common/trainer_lease.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace whetstone {

absl::Status TrainerLease::Claim(const TrainerHolder& by, bool steal, double now) {
  const std::string held_by = HeldBy(now);
  if (!steal && !held_by.empty() && held_by != by.campaign_id) {
    return absl::FailedPreconditionError(
        absl::StrFormat("the trainer serves campaign %s, heard of %.0f s ago; wait for its end or "
                        "stop it, or take the trainer from it with --steal",
                        held_by, HeardAgo(now)));
  }
  if (!loading_) before_ = {.holder = state_.holder, .heard = state_.heard};
  loading_ = true;
  state_ = {.holder = by, .heard = now, .calls = 1};
  return absl::OkStatus();
}

void TrainerLease::Settle(const TrainerHolder& by, bool loaded, double now) {
  if (state_.holder != by) {
    if (loaded) before_ = {.holder = by, .heard = now};
    return;
  }
  loading_ = false;
  End(by, now);
  if (!loaded) state_ = before_;
}

absl::Status TrainerLease::Check(const TrainerHolder& caller) const {
  const TrainerHolder& holder = state_.holder;
  if (caller == holder) return absl::OkStatus();
  if (caller.campaign_id.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("this trainer's policy is of campaign ", holder.campaign_id,
                     ", and the call names none: load a policy; or "
                     "whet is older than this trainer"));
  }
  if (holder.epoch == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("campaign ", caller.campaign_id,
                     " does not hold the trainer (any more), and nobody does; load a checkpoint"));
  }
  if (holder.campaign_id == caller.campaign_id) {
    return absl::AbortedError(
        absl::StrCat("another process of campaign ", holder.campaign_id,
                     " has taken the trainer since: this run goes on in another "
                     "process, perhaps of a copy; end one of them"));
  }
  return absl::AbortedError(absl::StrCat("campaign ", holder.campaign_id,
                                         " has taken the trainer from campaign ",
                                         caller.campaign_id, "; --steal takes it back"));
}

absl::Status TrainerLease::Begin(const TrainerHolder& caller, double now) {
  if (absl::Status refused = Check(caller); !refused.ok()) return refused;
  ++state_.calls;
  state_.heard = now;
  return absl::OkStatus();
}

void TrainerLease::End(const TrainerHolder& caller, double now) {
  if (caller != state_.holder) return;
  // Calls of before a failed load of another are not counted any more.
  if (state_.calls > 0) --state_.calls;
  state_.heard = now;
}

void TrainerLease::Hear(const TrainerHolder& caller, bool release, double now) {
  State& state = loading_ && caller == before_.holder ? before_ : state_;
  if (caller != state.holder) return;
  state.heard = now;
  if (release) state = {.holder = {.campaign_id = caller.campaign_id}};
}

std::string TrainerLease::HeldBy(double now) const {
  if (state_.holder.epoch == 0) return "";
  return HeardAgo(now) < kSeconds ? state_.holder.campaign_id : "";
}

}  // namespace whetstone
