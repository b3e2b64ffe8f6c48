// Learner's optimizer step applies the gradients, or says why not.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "gpu_trainer/profile/step_profile.h"
#include "gpu_trainer/train/learner/learner.h"
#include "gpu_trainer/train/parallel/slice_all_gather.h"

namespace whetstone {

void Learner::StartStep() {
  if (!gradients_are_zero_)
    Clear(gradient_buckets_.sharded() ? gradient_buckets_.mine() : Gradients());
  gradients_are_zero_ = false;
}

absl::StatusOr<std::string> Learner::ApplyGradients(const StepSettings& settings, double loss,
                                                    bool supervised, GradientSize* size) {
  const NamedTensors gradients =
      gradient_buckets_.sharded() ? gradient_buckets_.mine() : optimizer_.SlicesOf(Gradients());
  double bytes = optimizer_.StepBytes();
  for (const auto& [name, gradient] : gradients) bytes += static_cast<double>(gradient.nbytes());
  const PartScope scope(Part::kOptimizer, 0, bytes);
  // Dividing by a power of two while measuring and stepping is the same as doing it before.
  const double unscale = 1 / BackwardScale();
  ASSIGN_OR_RETURN(*size, MeasureGradients(gradients, settings.grad_norm_per_layer, unscale,
                                           Shards() ? &ranks_ : nullptr));
  if (!std::isfinite(loss) || !size->culprit.empty()) return NotFinite(loss, size->culprit);
  if (loss_scale_.has_value()) loss_scale_->StepWasFinite();
  if (settings.spike_factor > 0) {
    const std::string why =
        outlier_filter_.Judge(settings.spike_factor, size->total,
                              supervised ? std::optional<double>(loss) : std::nullopt);
    if (!why.empty()) return why;
  }
  const double scale = settings.max_grad_norm > 0 && size->total > settings.max_grad_norm
                           ? settings.max_grad_norm / size->total
                           : 1.0;
  if (Shards()) {
    SliceAllGather exchange(ranks_);
    optimizer_.Step(settings.adamw, scale * unscale, gradients,
                    [&](size_t i, const torch::Tensor& weight) {
                      if (fsdp_shards_ != nullptr && fsdp_shards_->TakesTurns(i)) return;
                      exchange.Add(i, weight);
                    });
    RETURN_IF_ERROR(exchange.Finish());
    if (fsdp_shards_ != nullptr) fsdp_shards_->Stepped();
  } else {
    optimizer_.Step(settings.adamw, scale * unscale, gradients);
  }
  // A rank that steps its slices alone has cleared no others.
  gradients_are_zero_ = !Shards() || gradient_buckets_.sharded();
  if (lora_ != nullptr) lora_->Merge();
  return "";
}

absl::StatusOr<std::string> Learner::NotFinite(double loss, const std::string& culprit) {
  std::string weight;
  if (fsdp_shards_ == nullptr) {
    weight = FirstNotFinite(weights_.Named());
  } else {
    ASSIGN_OR_RETURN(const std::vector<std::string> all,
                     ranks_.AllGather("a bad weight", FirstNotFinite(fsdp_shards_->mine())));
    weight = *std::max_element(all.begin(), all.end());  // Some rank has one.
  }
  if (std::isfinite(loss) && weight.empty() && BackwardScale() > LossScale::kLeast) {
    const double scale = BackwardScale();
    loss_scale_->Overflowed();
    return absl::StrFormat(
        "the gradient of %s overflows fp16 at a loss scale of %.0f; the next update has %.0f",
        culprit, scale, BackwardScale());
  }
  return absl::StrCat(
      std::isfinite(loss) ? "" : absl::StrCat("the loss is ", loss, "; "),
      culprit.empty() ? "" : absl::StrCat("the gradient of ", culprit, " is not finite; "),
      weight.empty() ? "all weights are finite"
                     : absl::StrCat("the weight ", weight, " is not finite"));
}

void Learner::WriteNorms(const GradientSize& sum, size_t steps, UpdateResult* result) {
  const double n = static_cast<double>(std::max<size_t>(1, steps));
  result->metrics["grad_norm"] = sum.total / n;
  for (const auto& [layer, norm] : sum.layers) {
    result->metrics[absl::StrCat("grad_norm/", layer)] = norm / n;
  }
}

void Learner::WriteSize(const StepSettings& settings, double packed, int64_t learned,
                        UpdateResult* result) const {
  result->metrics["lr"] = settings.adamw.lr;
  if (loss_scale_.has_value()) result->metrics["loss_scale"] = loss_scale_->value();
  result->metrics["num_tokens"] = static_cast<double>(learned);
  result->metrics["perf/packed_tokens"] = packed;
}

}  // namespace whetstone
