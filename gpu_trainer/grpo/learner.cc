#include "gpu_trainer/grpo/learner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/grpo/grpo_metrics.h"

namespace whetstone {
namespace {

constexpr int64_t kActivationBytes = int64_t{3} << 29;  // 1.5 GiB

int64_t DefaultBudget(const ModelConfig& config, torch::ScalarType dtype) {
  return std::clamp<int64_t>(kActivationBytes / DecoderPass::KeptBytesPerToken(config, dtype), 256,
                             16384);
}

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

absl::StatusOr<LossSettings> ParseSettings(const v1::GrpoSettings& s) {
  LossSettings out;
  switch (s.loss()) {
    case v1::GrpoSettings::GRPO:
      out.kind = LossKind::kGrpo;
      break;
    case v1::GrpoSettings::DR_GRPO:
      out.kind = LossKind::kDrGrpo;
      break;
    case v1::GrpoSettings::DAPO:
      out.kind = LossKind::kDapo;
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("settings.loss is ", s.loss(), "; valid: GRPO, DR_GRPO, DAPO"));
  }
  out.clip_low = s.clip_low();
  out.clip_high = s.clip_high();
  out.importance_cap = s.importance_cap();
  out.max_new_tokens = s.max_new_tokens();
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
  if (out.kind == LossKind::kDrGrpo && s.max_new_tokens() < 1) {
    return absl::InvalidArgumentError("loss DR_GRPO needs settings.max_new_tokens >= 1");
  }
  if (s.minibatches() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("settings.minibatches is ", s.minibatches(), "; it must be 1 or more"));
  }
  return out;
}

absl::Status CheckStepSettings(const StepSettings& s) {
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
  return absl::OkStatus();
}

// lr; num_tokens: learned; perf/packed_tokens: encoded, a shared prefix once; perf/tokens_per_s:
// encoded a second.
void WriteSpeed(const StepSettings& settings, int64_t packed, int64_t learned, double seconds,
                UpdateResult* result) {
  result->metrics["lr"] = settings.adamw.lr;
  result->metrics["num_tokens"] = static_cast<double>(learned);
  result->metrics["perf/packed_tokens"] = static_cast<double>(packed);
  result->metrics["perf/tokens_per_s"] = static_cast<double>(packed) / seconds;
}

// A token of the step: where its numbers are in the request.
struct Rollouts {
  std::vector<Tree> trees;
  // For each tree and branch.
  std::vector<std::vector<const v1::Rollout*>> sources;
  std::vector<std::vector<double>> advantages;
  StepCounts counts;

  void Add(size_t tree, const v1::Rollout& rollout, double advantage) {
    trees[tree].branches.push_back(
        {.ids = {rollout.ids().begin(), rollout.ids().end()}, .learn_from = 0});
    sources[tree].push_back(&rollout);
    advantages[tree].push_back(advantage);
    ++counts.sequences;
    counts.tokens += rollout.ids_size();
  }
};

// One optimizer step's share of an Update.
struct Minibatch {
  Rollouts rollouts;
  std::vector<PackedBatch> packed;
  // The log-probabilities at the start of the Update, a vector for each packed batch; empty: the
  // policy has not changed since, old = policy.
  std::vector<std::vector<float>> old;
};

}  // namespace

Learner::Learner(const ModelConfig& config, Weights& weights, const LearnerOptions& options)
    : config_(config),
      weights_(weights),
      token_budget_(options.token_budget > 0 ? options.token_budget
                                             : DefaultBudget(config, weights.dtype())),
      pass_(config, weights),
      gradients_(EmptyWeights(config, torch::kFloat, weights.device())),
      optimizer_(config, weights) {
  Clear(gradients_);
}

absl::Status Learner::CheckIds(absl::Span<const int32_t> ids, const std::string& where) const {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= config_.vocab) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, ": token ", i, " is ", ids[i], ", outside the vocabulary of ", config_.vocab));
    }
  }
  return absl::OkStatus();
}

absl::Status Learner::CheckLength(int64_t tokens, const std::string& where) const {
  if (tokens <= config_.context) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      where, ": ", tokens, " tokens are more than the model's context of ", config_.context));
}

absl::Status Learner::CheckGroup(const v1::RolloutGroup& group, const std::string& where) const {
  if (group.prompt_ids().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": no prompt_ids"));
  }
  RETURN_IF_ERROR(CheckIds(group.prompt_ids(), absl::StrCat(where, ".prompt_ids")));
  for (int r = 0; r < group.rollouts_size(); ++r) {
    const v1::Rollout& rollout = group.rollouts(r);
    const std::string here = absl::StrCat(where, ".rollouts[", r, "]");
    RETURN_IF_ERROR(CheckIds(rollout.ids(), here));
    RETURN_IF_ERROR(CheckLength(group.prompt_ids_size() + rollout.ids_size(), here));
    if (rollout.sampling_logprobs_size() != rollout.ids_size()) {
      return absl::InvalidArgumentError(absl::StrCat(here, ": ", rollout.ids_size(), " ids but ",
                                                     rollout.sampling_logprobs_size(),
                                                     " sampling_logprobs"));
    }
    if (!rollout.dropped() && !std::isfinite(rollout.reward())) {
      return absl::InvalidArgumentError(absl::StrCat(here, ": the reward is ", rollout.reward()));
    }
  }
  return absl::OkStatus();
}

HeadOutput Learner::RunBatch(const PackedBatch& batch, double temperature,
                             const TokenObjective& objective) {
  torch::NoGradGuard no_grad;
  const bool learn = objective != nullptr;
  const torch::Tensor hidden = pass_.Forward(batch, learn);
  HeadGradient gradient{.hidden = {}, .weight = gradients_.lm_head};
  HeadOutput out = HeadLoss(hidden, weights_.lm_head, batch.targets, temperature, objective,
                            learn ? &gradient : nullptr);
  if (learn) pass_.Backward(gradient.hidden, gradients_);
  return out;
}

bool Learner::ApplyGradients(const StepSettings& settings, double loss, UpdateResult* result) {
  std::string culprit;
  const double norm = GradientNorm(gradients_, &culprit);
  if (!std::isfinite(loss)) {
    result->skip_reason = absl::StrCat("the loss is ", loss);
    return false;
  }
  if (!std::isfinite(norm)) {
    result->skip_reason = absl::StrCat("the gradient of ", culprit, " is not finite");
    return false;
  }
  const double scale = settings.max_grad_norm > 0 && norm > settings.max_grad_norm
                           ? settings.max_grad_norm / norm
                           : 1.0;
  optimizer_.Step(settings.adamw, scale, gradients_, weights_);
  result->metrics["grad_norm"] = norm;
  return true;
}

absl::StatusOr<UpdateResult> Learner::Grpo(const v1::GrpoBatch& batch,
                                           const StepSettings& settings) {
  const Stopwatch watch;
  RETURN_IF_ERROR(CheckStepSettings(settings));
  ASSIGN_OR_RETURN(const LossSettings loss_settings, ParseSettings(batch.settings()));
  const double temperature =
      batch.settings().temperature() > 0 ? batch.settings().temperature() : 1.0;
  const AdvantageScale scale = batch.settings().advantage_scale() == v1::GrpoSettings::NONE
                                   ? AdvantageScale::kNone
                                   : AdvantageScale::kGroup;
  const size_t steps = std::max(1, batch.settings().minibatches());

  // Deal the learnable rollouts of each group out to the minibatches in turn, so that each sees all
  // groups.
  std::vector<Minibatch> minibatches(steps);
  int64_t learnable_groups = 0;
  for (int g = 0; g < batch.groups_size(); ++g) {
    const v1::RolloutGroup& group = batch.groups(g);
    RETURN_IF_ERROR(CheckGroup(group, absl::StrCat("groups[", g, "]")));
    std::vector<Graded> graded;
    for (const v1::Rollout& rollout : group.rollouts()) {
      graded.push_back({.reward = rollout.reward(), .dropped = rollout.dropped()});
    }
    const GroupAdvantage advantage = ComputeAdvantage(graded, scale);
    if (!advantage.learnable) continue;
    ++learnable_groups;
    for (Minibatch& m : minibatches) {
      m.rollouts.trees.push_back(
          {.prefix = {group.prompt_ids().begin(), group.prompt_ids().end()}, .branches = {}});
      m.rollouts.sources.emplace_back();
      m.rollouts.advantages.emplace_back();
    }
    size_t next = 0;
    for (int r = 0; r < group.rollouts_size(); ++r) {
      const v1::Rollout& rollout = group.rollouts(r);
      if (rollout.dropped() || rollout.ids().empty()) continue;
      Rollouts& to = minibatches[next++ % steps].rollouts;
      to.Add(to.trees.size() - 1, rollout, advantage.values[r]);
    }
  }

  int64_t packed_tokens = 0, learned_tokens = 0;
  for (size_t m = 0; m < steps; ++m) {
    Minibatch& minibatch = minibatches[m];
    minibatch.packed = Pack(minibatch.rollouts.trees, token_budget_);
    for (const PackedBatch& packed : minibatch.packed) {
      packed_tokens += static_cast<int64_t>(packed.ids.size());
      learned_tokens += static_cast<int64_t>(packed.targets.size());
      if (m > 0) minibatch.old.push_back(RunBatch(packed, temperature, nullptr).logprobs);
    }
  }

  UpdateResult result;
  GrpoMetrics metrics;
  metrics.AddBatch(batch, learnable_groups);
  double loss_sum = 0, norm_sum = 0;
  size_t applied = 0;
  result.metrics["grad_norm"] = 0;
  for (size_t m = 0; m < steps; ++m) {
    const Minibatch& minibatch = minibatches[m];
    if (minibatch.packed.empty()) continue;
    Clear(gradients_);
    double loss = 0;
    for (size_t p = 0; p < minibatch.packed.size(); ++p) {
      const PackedBatch& packed = minibatch.packed[p];
      RunBatch(packed, temperature, [&](size_t i, float logprob, float entropy) {
        const Target& target = packed.targets[i];
        const v1::Rollout& rollout = *minibatch.rollouts.sources[target.tree][target.branch];
        const PolicyToken token{
            .policy = logprob,
            .old = minibatch.old.empty() ? logprob : minibatch.old[p][i],
            .sampling = rollout.sampling_logprobs(target.token),
            .advantage = minibatch.rollouts.advantages[target.tree][target.branch]};
        const TokenLoss t = PolicyTokenLoss(loss_settings, token);
        const double weight =
            TokenWeight(loss_settings, minibatch.rollouts.counts, rollout.ids_size());
        loss += weight * t.value;
        metrics.AddToken(t, token, entropy);
        return weight * t.slope;
      });
    }
    if (!ApplyGradients(settings, loss, &result)) {
      if (steps > 1) {
        result.skip_reason =
            absl::StrCat("minibatch ", m + 1, " of ", steps, ": ", result.skip_reason);
      }
      break;
    }
    ++applied;
    loss_sum += loss;
    norm_sum += result.metrics["grad_norm"];
  }
  result.applied = result.skip_reason.empty() || applied > 0;
  if (applied > 0) {
    result.metrics["loss"] = loss_sum / static_cast<double>(applied);
    result.metrics["grad_norm"] = norm_sum / static_cast<double>(applied);
  } else {
    result.metrics["loss"] = 0;
  }
  metrics.WriteTo(&result.metrics);
  WriteSpeed(settings, packed_tokens, learned_tokens, watch.Seconds(), &result);
  return result;
}

absl::StatusOr<UpdateResult> Learner::Supervised(const std::vector<LearnedSequence>& sequences,
                                                 const StepSettings& settings) {
  const Stopwatch watch;
  RETURN_IF_ERROR(CheckStepSettings(settings));
  int64_t learned = 0;
  for (size_t s = 0; s < sequences.size(); ++s) {
    const LearnedSequence& sequence = sequences[s];
    const std::string where = absl::StrCat("example ", s);
    const int64_t length = static_cast<int64_t>(sequence.ids.size());
    RETURN_IF_ERROR(CheckIds(sequence.ids, where));
    RETURN_IF_ERROR(CheckLength(length, where));
    if (sequence.learn_from < 1 || sequence.learn_from >= length) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": ", length, " tokens, learned from token ", sequence.learn_from,
                       " on; at least one must come before and one be learned"));
    }
    learned += length - sequence.learn_from;
  }
  if (sequences.empty()) return absl::InvalidArgumentError("a supervised batch without examples");

  UpdateResult result;
  Clear(gradients_);
  double loss = 0, entropy_sum = 0;
  int64_t packed_tokens = 0;
  const double weight = 1.0 / static_cast<double>(learned);
  for (const PackedBatch& packed : Pack(ShareCommonPrefix(sequences), token_budget_)) {
    packed_tokens += static_cast<int64_t>(packed.ids.size());
    RunBatch(packed, /*temperature=*/1.0, [&](size_t, float logprob, float entropy) {
      loss -= weight * logprob;
      entropy_sum += entropy;
      return -weight;
    });
  }
  result.applied = ApplyGradients(settings, loss, &result);
  result.metrics["loss"] = loss;
  result.metrics["entropy"] = entropy_sum * weight;
  WriteSpeed(settings, packed_tokens, learned, watch.Seconds(), &result);
  return result;
}

}  // namespace whetstone
