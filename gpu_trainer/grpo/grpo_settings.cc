#include "gpu_trainer/grpo/grpo_settings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace whetstone {

absl::StatusOr<GrpoPlan> ParseGrpoSettings(const v1::GrpoSettings& s) {
  GrpoPlan plan;
  LossSettings& loss = plan.loss;
  switch (s.loss()) {
    case v1::GrpoSettings::GRPO:
      loss.kind = LossKind::kGrpo;
      break;
    case v1::GrpoSettings::DR_GRPO:
      loss.kind = LossKind::kDrGrpo;
      break;
    case v1::GrpoSettings::DAPO:
      loss.kind = LossKind::kDapo;
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("settings.loss is ", s.loss(), "; valid: GRPO, DR_GRPO, DAPO"));
  }
  loss.clip_low = s.clip_low();
  loss.clip_high = s.clip_high();
  loss.importance_cap = s.importance_cap();
  loss.max_new_tokens = s.max_new_tokens();
  // Written so that NaN fails too.
  if (!(s.clip_low() > 0 && s.clip_low() <= 1 && s.clip_high() > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("settings.clip_low is ", s.clip_low(),
                                                   " and clip_high ", s.clip_high(),
                                                   "; they must be in (0, 1] and above 0"));
  }
  if (!(s.importance_cap() >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "settings.importance_cap is ", s.importance_cap(), "; it must be 0 (off) or more"));
  }
  if (loss.kind == LossKind::kDrGrpo && s.max_new_tokens() < 1) {
    return absl::InvalidArgumentError("loss DR_GRPO needs settings.max_new_tokens >= 1");
  }
  if (s.minibatches() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("settings.minibatches is ", s.minibatches(), "; it must be 1 or more"));
  }
  plan.scale = s.advantage_scale() == v1::GrpoSettings::NONE ? AdvantageScale::kNone
                                                             : AdvantageScale::kGroup;
  plan.minibatches = std::max(1, s.minibatches());
  plan.temperature = s.temperature() > 0 ? s.temperature() : 1.0;
  return plan;
}

}  // namespace whetstone
