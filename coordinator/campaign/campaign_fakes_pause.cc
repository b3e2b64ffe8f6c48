// The world's campaign is paused and goes on.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/campaign/campaign_fakes.h"

namespace whetstone {
namespace {

// Longer than a campaign's patience, at times.
constexpr Seconds kPauseMax = 600;
// What was over before the pause may be found out at the next look.
constexpr Seconds kNextLook = 3;

}  // namespace

void World::PauseAndUnpause() {
  if (unpause_at_) {
    if (now_ < *unpause_at_) return;
    unpause_at_.reset();
    return After(0, event::Unpause{});
  }
  const bool once =
      options_.pause_until > 0 && pauses_ == 0 && now_ - kBegin >= options_.pause_from;
  if (!once && (pauses_left_ == 0 || Draw() >= 0.03)) return;
  ++pauses_;
  if (once) {
    unpause_at_ = kBegin + options_.pause_until;
  } else {
    --pauses_left_;
    unpause_at_ = now_ + kPauseMax * Draw();
  }
  After(0, event::Pause{});
}

void World::CheckPause(const Action& action) {
  if (!paused_at_) return;
  if (std::holds_alternative<action::Generate>(action) ||
      std::holds_alternative<action::Update>(action) ||
      std::holds_alternative<action::ReplayUpdate>(action) ||
      std::holds_alternative<action::SaveCheckpoint>(action) ||
      std::holds_alternative<action::RemoveCheckpoints>(action) ||
      std::holds_alternative<action::PutProblem>(action) ||
      std::holds_alternative<action::Measure>(action)) {
    Break("it begins something while it is paused");
  }
  const auto* finish = std::get_if<action::Finish>(&action);
  if (finish == nullptr || now_ < *paused_at_ + kNextLook) return;
  for (const char* patience : {"the trainer has not answered for", "has not become free",
                               "no worker has been reachable", "no worker could measure"}) {
    if (absl::StrContains(finish->status.message(), patience)) {
      Break(absl::StrCat("patience ran out in a pause: ", finish->status.message()));
    }
  }
}

}  // namespace whetstone
