// What the driver waits for, and for how long.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/campaign/deadlines.h"
#include "coordinator/campaign/trainer_driver.h"

namespace whetstone {

void TrainerDriver::CheckDeadlines() {
  if (op_ != TrainerOp::kNone && context_->now() >= deadline_) {
    context_->Emit(action::CancelCall{call_});
    Fail(absl::DeadlineExceededError(
        absl::StrFormat("%s: no answer in %.0f s", op_name_, context_->now() - since_)));
  }
  if (down_since_ >= 0 && context_->now() >= down_since_ + patience()) {
    context_->Finish(absl::UnavailableError(absl::StrFormat(
        "the trainer has not answered for %.0f s: %s", context_->now() - down_since_,
        last_error_.empty() ? "no answer" : last_error_)));
  }
  if (held_since_ >= 0 && context_->now() >= held_since_ + patience()) {
    context_->Finish(absl::FailedPreconditionError(absl::StrFormat(
        "the trainer serves %s, and has not become free in %.0f s: stop that campaign or wait for "
        "its end, or take the trainer from it with --steal",
        OtherHolder(), context_->now() - held_since_)));
  }
}

void TrainerDriver::Excuse(Seconds paused) {
  if (down_since_ >= 0) down_since_ += paused;
  if (held_since_ >= 0) held_since_ += paused;
}

void TrainerDriver::AddWaits(std::vector<Wait>* waits) const {
  if (held_since_ >= 0) {
    waits->push_back({absl::StrCat("the trainer, which serves ", OtherHolder()), held_since_,
                      held_since_ + patience()});
  } else if (down_since_ >= 0 && !computes()) {
    waits->push_back({lost() ? "the trainer to come back" : "the trainer to start", down_since_,
                      down_since_ + patience()});
  } else if (op_ != TrainerOp::kNone) {
    waits->push_back({op_name_, since_, deadline_, computes()});
  } else if (context_->now() < retry_at_) {
    waits->push_back({"the trainer, which refused", retry_at_ - kRetryDelay, retry_at_});
  }
}

}  // namespace whetstone
