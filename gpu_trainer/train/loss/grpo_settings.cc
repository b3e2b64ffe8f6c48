#include "gpu_trainer/train/loss/grpo_settings.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

using S = v1::GrpoSettings;

absl::Status Wrong(absl::string_view name, double value, absl::string_view must) {
  return absl::InvalidArgumentError(absl::StrCat("settings.", name, " is ", value, "; ", must));
}

absl::StatusOr<LossKind> KindOf(S::Loss loss) {
  switch (loss) {
    case S::GRPO:
      return LossKind::kGrpo;
    case S::DR_GRPO:
      return LossKind::kDrGrpo;
    case S::DAPO:
      return LossKind::kDapo;
    case S::GSPO:
      return LossKind::kGspo;
    case S::CISPO:
      return LossKind::kCispo;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("settings.loss is ", loss, "; valid: GRPO, DR_GRPO, DAPO, GSPO, CISPO"));
  }
}

absl::StatusOr<AdvantageScale> ScaleOf(S::AdvantageScale scale) {
  switch (scale) {
    case S::GROUP:
    case S::ADVANTAGE_SCALE_UNSPECIFIED:
      return AdvantageScale::kGroup;
    case S::NONE:
      return AdvantageScale::kNone;
    case S::BATCH:
      return AdvantageScale::kBatch;
    case S::LEAVE_ONE_OUT:
      return AdvantageScale::kLeaveOneOut;
    case S::ENTROPIC:
      return AdvantageScale::kEntropic;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("settings.advantage_scale is ", scale,
                       "; valid: GROUP, NONE, BATCH, LEAVE_ONE_OUT, ENTROPIC"));
  }
}

absl::StatusOr<KlEstimator> EstimatorOf(S::KlEstimator estimator) {
  switch (estimator) {
    case S::K1:
      return KlEstimator::kK1;
    case S::K2:
      return KlEstimator::kK2;
    case S::K3:
    case S::KL_ESTIMATOR_UNSPECIFIED:
      return KlEstimator::kK3;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("settings.kl_estimator is ", estimator, "; valid: K1, K2, K3"));
  }
}

absl::StatusOr<ImportanceSettings> ImportanceOf(const S& s) {
  ImportanceSettings out{.clip_min = s.importance_clip_min(), .clip_max = s.importance_clip_max()};
  switch (s.importance()) {
    case S::IMPORTANCE_UNSPECIFIED:
      return ImportanceSettings{};
    case S::TOKEN_MASK:
      out.mask = true;
      [[fallthrough]];
    case S::TOKEN_TRUNCATE:
      out.level = ImportanceLevel::kToken;
      break;
    case S::SEQUENCE_MASK:
      out.mask = true;
      [[fallthrough]];
    case S::SEQUENCE_TRUNCATE:
      out.level = ImportanceLevel::kSequence;
      break;
    case S::GEOMETRIC_MASK:
      out.mask = true;
      [[fallthrough]];
    case S::GEOMETRIC_TRUNCATE:
      out.level = ImportanceLevel::kGeometric;
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("settings.importance is ", s.importance(),
                       "; valid: {TOKEN,SEQUENCE,GEOMETRIC}_{TRUNCATE,MASK}, or unset for none"));
  }
  if (!(out.clip_min >= 0)) {
    return Wrong("importance_clip_min", out.clip_min, "it must be 0 (none) or more");
  }
  if (!(out.clip_max == 0 || (out.clip_max > 0 && out.clip_max >= out.clip_min))) {
    return Wrong("importance_clip_max", out.clip_max,
                 "it must be 0 (none), or positive and not below importance_clip_min");
  }
  return out;
}

}  // namespace

absl::StatusOr<GrpoPlan> ParseGrpoSettings(const v1::GrpoSettings& s) {
  GrpoPlan plan;
  LossSettings& loss = plan.loss;
  ASSIGN_OR_RETURN(loss.kind, KindOf(s.loss()));
  ASSIGN_OR_RETURN(plan.scale, ScaleOf(s.advantage_scale()));
  ASSIGN_OR_RETURN(loss.kl_estimator, EstimatorOf(s.kl_estimator()));
  ASSIGN_OR_RETURN(loss.importance, ImportanceOf(s));
  loss.clip_low = s.clip_low();
  loss.clip_high = s.clip_high();
  loss.dual_clip = s.dual_clip();
  loss.kl_beta = s.kl_beta();
  loss.entropy_bonus = s.entropy_bonus();
  loss.max_new_tokens = s.max_new_tokens();
  loss.imitation_weight = s.imitation_weight();
  plan.minibatches = std::max(1, s.minibatches());
  plan.temperature = s.temperature() > 0 ? s.temperature() : 1.0;
  plan.mask_truncated = s.mask_truncated();
  // The conditions are written so that NaN fails too.
  if (!(s.clip_low() > 0 && s.clip_low() <= 1)) {
    return Wrong("clip_low", s.clip_low(), "it must be above 0 and at most 1");
  }
  if (!(s.clip_high() > 0)) return Wrong("clip_high", s.clip_high(), "it must be above 0");
  if (s.dual_clip() != 0 && !(s.dual_clip() > 1 + s.clip_high())) {
    return Wrong("dual_clip", s.dual_clip(), "it must be 0 (off) or above 1 + clip_high");
  }
  if (s.dual_clip() != 0 && loss.kind == LossKind::kCispo) {
    return Wrong("dual_clip", s.dual_clip(), "CISPO bounds every ratio already; it must be 0");
  }
  if (!(s.kl_beta() >= 0 && std::isfinite(s.kl_beta()))) {
    return Wrong("kl_beta", s.kl_beta(), "it must be 0 (off) or more");
  }
  if (!(s.entropy_bonus() >= 0 && std::isfinite(s.entropy_bonus()))) {
    return Wrong("entropy_bonus", s.entropy_bonus(), "it must be 0 (off) or more");
  }
  if (!(s.imitation_weight() >= 0 && std::isfinite(s.imitation_weight()))) {
    return Wrong("imitation_weight", s.imitation_weight(), "it must be 0 (off) or more");
  }
  if (loss.kind == LossKind::kDrGrpo && s.max_new_tokens() < 1) {
    return Wrong("max_new_tokens", s.max_new_tokens(), "DR_GRPO divides by it: 1 or more");
  }
  if (s.minibatches() < 0) return Wrong("minibatches", s.minibatches(), "it must be 1 or more");
  return plan;
}

}  // namespace whetstone
