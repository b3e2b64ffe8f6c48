#include "gpu_trainer/train/learner/learner.h"

#include <cmath>
#include <exception>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/model/compute_type.h"
#include "gpu_trainer/train/learner/update_stopwatch.h"

namespace whetstone {

Learner::Learner(const ModelConfig& config, Weights& weights, const LearnerOptions& options)
    : config_(config),
      weights_(weights),
      options_(options),
      ranks_(options.ranks != nullptr ? *options.ranks : alone_),
      pass_(config, weights),
      lora_(options.lora.rank > 0 ? std::make_unique<Lora>(config, weights, options.lora)
                                  : nullptr),
      gradients_(lora_ == nullptr
                     ? EmptyWeights(config, WideType(weights.dtype()), weights.device())
                     : Weights()),
      gradient_buckets_(ranks_.alone() ? GradientBuckets()
                        : ShardsGradients()
                            ? GradientBuckets(Gradients(), ranks_.rank(), ranks_.size())
                            : GradientBuckets(Gradients())),
      fsdp_shards_(options.sharding == Sharding::kParameters && Shards()
                       ? std::make_unique<FsdpShards>(weights, ranks_)
                       : nullptr),
      optimizer_(lora_ == nullptr ? weights.Named() : lora_->parameters(), options.optimizer_state,
                 Shards() ? OptimizerShard{ranks_.rank(), ranks_.size()} : OptimizerShard(),
                 fsdp_shards_ == nullptr ? NamedTensors() : fsdp_shards_->mine()),
      loss_scale_(weights.dtype() == torch::kHalf ? std::make_optional<LossScale>()
                                                  : std::nullopt) {
  gradients_.layers.resize(weights.layers.size());
  if (ranks_.alone()) Clear(Gradients());
}

NamedTensors Learner::Gradients() const {
  return lora_ == nullptr ? gradients_.Named() : lora_->gradients();
}

std::vector<ShardedTensor> Learner::State() const {
  std::vector<ShardedTensor> state = optimizer_.State();
  if (lora_ == nullptr) return state;
  for (const auto& [name, tensor] : lora_->State()) state.push_back(WholeTensor(name, tensor));
  return state;
}

void Learner::StateWasRestored() {
  if (lora_ != nullptr) lora_->Merge();
}

absl::Status Learner::CheckSettings(const StepSettings& s) {
  const AdamWSettings& a = s.adamw;
  const auto finite_from_zero = [](double x) { return std::isfinite(x) && x >= 0; };
  if (!finite_from_zero(a.lr) || !finite_from_zero(a.weight_decay) ||
      !finite_from_zero(s.max_grad_norm)) {
    return absl::InvalidArgumentError(
        absl::StrCat("optimizer: lr ", a.lr, ", weight_decay ", a.weight_decay,
                     " and max_grad_norm ", s.max_grad_norm, " must be finite and not negative"));
  }
  if (!(a.beta1 >= 0 && a.beta1 < 1 && a.beta2 >= 0 && a.beta2 < 1 && a.eps > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("optimizer: betas ", a.beta1, " and ", a.beta2,
                                                   " must be in [0, 1) and eps ", a.eps,
                                                   " above 0"));
  }
  if (s.spike_factor != 0 && !(s.spike_factor > 1 && std::isfinite(s.spike_factor))) {
    return absl::InvalidArgumentError(
        absl::StrCat("optimizer: spike_factor ", s.spike_factor, " must be 0 (off) or above 1"));
  }
  return absl::OkStatus();
}

void Learner::BeginPhase() {
  optimizer_.Reset();
  outlier_filter_ = OutlierFilter();
}

absl::StatusOr<UpdateResult> Learner::RunUpdate(
    const std::function<absl::StatusOr<UpdateResult>()>& update) {
  const UpdateStopwatch stopwatch(ranks_);
  absl::StatusOr<UpdateResult> result = absl::UnknownError("");
  const auto run = [&] {
    const absl::Cleanup forget = [this] { pass_.Forget(); };  // A micro-batch may have failed.
    result = update();
  };
  if (fsdp_shards_ == nullptr) {
    run();
  } else {
    RETURN_IF_ERROR(fsdp_shards_->Shard());
    std::exception_ptr failure;
    try {
      run();
    } catch (...) {
      failure = std::current_exception();
    }
    const absl::Status whole = fsdp_shards_->Unshard();
    if (failure != nullptr) std::rethrow_exception(failure);
    if (result.ok() && !whole.ok()) result = whole;
  }
  if (result.ok()) stopwatch.WriteTo(&result->metrics);
  return result;
}

}  // namespace whetstone
