#include "gpu_trainer/train/learner.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "gpu_trainer/model/compute_type.h"
#include "gpu_trainer/profile/device_memory.h"
#include "gpu_trainer/profile/step_profile.h"
#include "gpu_trainer/train/batch/grpo_batch.h"
#include "gpu_trainer/train/batch/share_out.h"
#include "gpu_trainer/train/parallel/slice_exchange.h"

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
      gradient_units_(ranks_.alone()      ? GradientUnits()
                      : ShardsGradients() ? GradientUnits(Gradients(), ranks_.rank(), ranks_.size())
                                          : GradientUnits(Gradients())),
      weight_shards_(options.sharding == Sharding::kParameters && Shards()
                         ? std::make_unique<WeightShards>(weights, ranks_)
                         : nullptr),
      optimizer_(lora_ == nullptr ? weights.Named() : lora_->parameters(), options.optimizer_state,
                 Shards() ? OptimizerShare{ranks_.rank(), ranks_.size()} : OptimizerShare(),
                 weight_shards_ == nullptr ? NamedTensors() : weight_shards_->mine()),
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

void Learner::StartStep() {
  if (!gradients_are_zero_) Clear(gradient_units_.shared() ? gradient_units_.mine() : Gradients());
  gradients_are_zero_ = false;
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
  spike_guard_ = SpikeGuard();
}

absl::Status Learner::PrepareBudget() {
  if (budget_.has_value()) return absl::OkStatus();
  // What the learner itself needs is allocated by now. Ranks of one host share its memory.
  const torch::Device device = weights_.device();
  ASSIGN_OR_RETURN(const std::vector<std::vector<double>> free,
                   ranks_.GatherNumbers("free memory",
                                        {1.0 / ranks_.sharing(device) * FreeTensorBytes(device)}));
  const double least = (*std::min_element(free.begin(), free.end()))[0];
  budget_.emplace(config_, weights_.dtype(), options_.token_budget,
                  options_.activation_checkpointing, static_cast<int64_t>(least));
  return absl::OkStatus();
}

std::vector<PackedBatch> Learner::PackMine(const std::vector<LearnedSequence>& sequences) const {
  return PackShare(sequences, budget_->limits(), config_, ranks_.rank(), ranks_.size());
}

absl::Status Learner::ForEachOf(const std::vector<PackedBatch>& mine, const std::string& what,
                                Passes passes,
                                const std::function<void(size_t, BatchWalk*)>& body) {
  // Where ranks meet in each micro-batch, another rank may have more of them.
  const bool learn = passes == Passes::kBoth;
  const bool in_each =
      learn ? gradient_units_.shared() : passes == Passes::kForward && weight_shards_ != nullptr;
  size_t meetings = learn ? 1 : 0;
  if (in_each) {
    ASSIGN_OR_RETURN(const auto counts, ranks_.GatherNumbers("the number of micro-batches",
                                                             {static_cast<double>(mine.size())}));
    for (const std::vector<double>& count : counts) {
      meetings = std::max(meetings, static_cast<size_t>(count[0]));
    }
  }
  GradientSums sums(ranks_, gradient_units_);
  std::optional<BatchWalk> walk;
  size_t met = 0;
  const auto meet = [&] {
    if (walk.has_value()) walk->End();
    if (learn) sums.Begin();
    walk.emplace(weights_.layers.size(),
                 learn ? BatchWalk::Way::kThereAndBack : BatchWalk::Way::kThere,
                 weight_shards_.get(), learn ? &sums : nullptr);
    ++met;
  };
  RETURN_IF_ERROR(ranks_.Together(what, [&] {
    // Also where a micro-batch failed, or where there was none.
    const absl::Cleanup meet_all = [&] {
      while (met < meetings) meet();
      if (walk.has_value()) walk->End();
    };
    for (size_t p = 0; p < mine.size(); ++p) {
      const bool here = meetings > 0 && (in_each || p + 1 == mine.size());
      if (here) meet();
      body(p, here ? &*walk : nullptr);
      ranks_.Working();
    }
    return absl::OkStatus();
  }));
  if (weight_shards_ != nullptr) RETURN_IF_ERROR(weight_shards_->status());
  return sums.Finish();
}

absl::StatusOr<UpdateResult> Learner::RunUpdate(
    const std::function<absl::StatusOr<UpdateResult>()>& update) {
  const Stopwatch watch(ranks_);
  absl::StatusOr<UpdateResult> result = absl::UnknownError("");
  const auto run = [&] {
    const absl::Cleanup forget = [this] { pass_.Forget(); };  // if a micro-batch failed
    result = update();
  };
  if (weight_shards_ == nullptr) {
    run();
  } else {
    RETURN_IF_ERROR(weight_shards_->Share());
    std::exception_ptr failure;
    try {
      run();
    } catch (...) {
      failure = std::current_exception();
    }
    const absl::Status whole = weight_shards_->Gather();
    if (failure != nullptr) std::rethrow_exception(failure);
    if (result.ok() && !whole.ok()) result = whole;
  }
  if (result.ok()) watch.WriteTo(&*result);
  return result;
}

HeadOutput Learner::RunBatch(const PackedBatch& batch, double temperature,
                             const TokenObjective& objective, BatchWalk* walk,
                             const std::function<void(const HeadOutput&)>& before) {
  torch::NoGradGuard no_grad;
  const bool learn = objective != nullptr;
  // `meet`, where there is a walk.
  const auto on_layer = [walk](void (BatchWalk::*meet)(size_t)) -> DecoderPass::OnLayer {
    if (walk == nullptr) return nullptr;
    return [walk, meet](size_t layer) { (walk->*meet)(layer); };
  };
  const torch::Tensor hidden = pass_.Forward(
      batch, learn ? budget_->keep() : DecoderPass::Keep::kNothing, on_layer(&BatchWalk::Forward));
  if (before) before(HeadLoss(hidden, weights_.lm_head, batch.targets, temperature));
  HeadGradient gradient{.hidden = {}, .weight = gradients_.lm_head};
  TokenObjective scaled;
  if (learn) {
    scaled = [&objective, scale = BackwardScale()](size_t i, float logprob, float entropy) {
      const TokenSlopes slopes = objective(i, logprob, entropy);
      return TokenSlopes{.logprob = scale * slopes.logprob, .entropy = scale * slopes.entropy};
    };
  }
  HeadOutput out = HeadLoss(hidden, weights_.lm_head, batch.targets, temperature, scaled,
                            learn ? &gradient : nullptr);
  if (!learn) return out;
  if (walk != nullptr) walk->HeadDone();
  pass_.Backward(gradient.hidden, gradients_, lora_.get(), on_layer(&BatchWalk::Backward),
                 on_layer(&BatchWalk::Complete));
  return out;
}

absl::StatusOr<std::string> Learner::NotFinite(double loss, const std::string& culprit) {
  std::string weight;
  if (weight_shards_ == nullptr) {
    weight = FirstNotFinite(weights_.Named());
  } else {
    ASSIGN_OR_RETURN(const std::vector<std::string> all,
                     ranks_.Gather("a bad weight", FirstNotFinite(weight_shards_->mine())));
    weight = *std::max_element(all.begin(), all.end());  // of a rank that has one
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

absl::StatusOr<std::string> Learner::ApplyGradients(const StepSettings& settings, double loss,
                                                    bool supervised, GradientSize* size) {
  const NamedTensors gradients =
      gradient_units_.shared() ? gradient_units_.mine() : optimizer_.SlicesOf(Gradients());
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
        spike_guard_.Judge(settings.spike_factor, size->total,
                           supervised ? std::optional<double>(loss) : std::nullopt);
    if (!why.empty()) return why;
  }
  const double scale = settings.max_grad_norm > 0 && size->total > settings.max_grad_norm
                           ? settings.max_grad_norm / size->total
                           : 1.0;
  if (Shards()) {
    SliceExchange exchange(ranks_);
    optimizer_.Step(settings.adamw, scale * unscale, gradients,
                    [&](size_t i, const torch::Tensor& weight) {
                      if (weight_shards_ != nullptr && weight_shards_->TakesTurns(i)) return;
                      exchange.Add(i, weight);
                    });
    RETURN_IF_ERROR(exchange.Finish());
    if (weight_shards_ != nullptr) weight_shards_->Stepped();
  } else {
    optimizer_.Step(settings.adamw, scale * unscale, gradients);
  }
  // A rank that steps its slices alone has cleared no others.
  gradients_are_zero_ = !Shards() || gradient_units_.shared();
  if (lora_ != nullptr) lora_->Merge();
  return "";
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

void Learner::Stopwatch::WriteTo(UpdateResult* result) const {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
  result->metrics["perf/tokens_per_s"] = result->metrics.at("perf/packed_tokens") / passed.count();
  if (ranks_.alone()) return;
  const RankTraffic& now = ranks_.traffic();
  const double communication_s = now.communication_s - traffic_.communication_s;
  result->metrics["perf/communication_s"] = communication_s;
  result->metrics["perf/communication_hidden"] =
      communication_s > 0 ? std::min(1.0, (now.hidden_s - traffic_.hidden_s) / communication_s) : 0;
  result->metrics["perf/communication_mib"] = (now.bytes - traffic_.bytes) / (1 << 20);
  result->metrics["perf/rank_wait_s"] = now.wait_s - traffic_.wait_s;
}

absl::StatusOr<UpdateResult> Learner::Supervised(const std::vector<LearnedSequence>& sequences,
                                                 const StepSettings& settings) {
  RETURN_IF_ERROR(CheckSettings(settings));
  int64_t learned = 0;
  for (size_t s = 0; s < sequences.size(); ++s) {
    const LearnedSequence& sequence = sequences[s];
    const std::string where = absl::StrCat("example ", s);
    const int64_t length = static_cast<int64_t>(sequence.ids.size());
    RETURN_IF_ERROR(CheckIds(sequence.ids, config_, where));
    RETURN_IF_ERROR(CheckLength(length, config_, where));
    if (sequence.learn_from < 1 || sequence.learn_from >= length) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": ", length, " tokens, learned from token ", sequence.learn_from,
                       " on; at least one must come before and one be learned"));
    }
    learned += length - sequence.learn_from;
  }
  if (sequences.empty()) return absl::InvalidArgumentError("a supervised batch without examples");

  return RunUpdate([&] { return LearnExamples(sequences, learned, settings); });
}

absl::StatusOr<UpdateResult> Learner::LearnExamples(const std::vector<LearnedSequence>& sequences,
                                                    int64_t learned, const StepSettings& settings) {
  RETURN_IF_ERROR(PrepareBudget());
  UpdateResult result;
  StartStep();
  double loss = 0, entropy_sum = 0, packed_tokens = 0;
  const double weight = 1.0 / static_cast<double>(learned);
  const std::vector<PackedBatch> mine = PackMine(sequences);
  const auto learn = [&](size_t p, BatchWalk* walk) {
    const PackedBatch& packed = mine[p];
    packed_tokens += static_cast<double>(packed.ids.size());
    const auto objective = [&](size_t i, float logprob, float entropy) {
      const double uses = static_cast<double>(packed.uses[i].size());
      loss -= uses * weight * logprob;
      entropy_sum += uses * entropy;
      return TokenSlopes{.logprob = -uses * weight};
    };
    RunBatch(packed, /*temperature=*/1.0, objective, walk);
  };
  RETURN_IF_ERROR(ForEachOf(mine, "learning the examples", Passes::kBoth, learn));
  RETURN_IF_ERROR(ranks_.SumNumbers("sums", {&loss, &entropy_sum, &packed_tokens}));
  GradientSize size;
  ASSIGN_OR_RETURN(result.skip_reason, ApplyGradients(settings, loss, /*supervised=*/true, &size));
  result.applied = result.skip_reason.empty();
  WriteNorms(size, 1, &result);
  result.metrics["loss"] = loss;
  result.metrics["entropy"] = entropy_sum * weight;
  WriteSize(settings, packed_tokens, learned, &result);
  return result;
}

}  // namespace whetstone
