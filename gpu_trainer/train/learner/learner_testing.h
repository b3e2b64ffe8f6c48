// The tests of the learner share a tiny policy, batches of rollouts, and the whole update in fp64.
#ifndef WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_LEARNER_TESTING_H_
#define WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_LEARNER_TESTING_H_

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "common/philox.h"
#include "gpu_trainer/model/decoder_reference.h"
#include "gpu_trainer/train/learner/learner.h"
#include "gpu_trainer/train/loss/grpo_settings.h"
#include "gpu_trainer/train/loss/loss_reference.h"

namespace whetstone {

// A Fixture is a policy of the tiny model that can be copied into a fresh start.
struct Fixture {
  explicit Fixture(torch::ScalarType dtype = torch::kFloat, int64_t token_budget = 1 << 20)
      : config(reference::TinyConfig()),
        weights(reference::TinyWeights(config, dtype)),
        learner(config, weights, {.token_budget = token_budget}) {
    // Matrices this small gain nothing from threads, and lose much on a busy machine.
    at::set_num_threads(1);
  }
  ModelConfig config;
  Weights weights;
  Learner learner;
};

inline std::vector<float> Flat(const NamedTensors& tensors) {
  std::vector<float> all;
  for (const auto& [name, tensor] : tensors) {
    const torch::Tensor t = tensor.to(torch::kFloat).contiguous();
    all.insert(all.end(), t.data_ptr<float>(), t.data_ptr<float>() + t.numel());
  }
  return all;
}

inline std::vector<float> Flat(const Weights& weights) { return Flat(weights.Named()); }

inline double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

inline v1::GrpoSettings DefaultSettings() {
  v1::GrpoSettings s;
  s.set_loss(v1::GrpoSettings::DAPO);
  s.set_clip_low(0.2);
  s.set_clip_high(0.28);
  s.set_advantage_scale(v1::GrpoSettings::GROUP);
  s.set_minibatches(1);
  s.set_max_new_tokens(32);
  s.set_importance(v1::GrpoSettings::TOKEN_TRUNCATE);
  s.set_importance_clip_max(2);
  s.set_temperature(1);
  return s;
}

inline std::vector<int32_t> SequenceOf(const v1::RolloutGroup& group, const v1::Rollout& rollout) {
  std::vector<int32_t> ids(group.prompt_ids().begin(), group.prompt_ids().end());
  ids.insert(ids.end(), rollout.ids().begin(), rollout.ids().end());
  return ids;
}

// Makes two groups of four rollouts of different lengths; sampling logprobs are the policy's own
// plus noise.
inline v1::GrpoBatch MakeBatch(const ModelConfig& config, const Weights& weights,
                               double noise = 0) {
  const Weights wide = reference::DoubleLeaves(config, weights);
  Philox rng(11, {1, 0, 0, 0});
  v1::GrpoBatch batch;
  *batch.mutable_settings() = DefaultSettings();
  for (int g = 0; g < 2; ++g) {
    v1::RolloutGroup& group = *batch.add_groups();
    group.set_group_index(g);
    for (int i = 0; i < 6 + g; ++i) group.add_prompt_ids(static_cast<int32_t>(rng.Below(97)));
    for (int r = 0; r < 4; ++r) {
      v1::Rollout& rollout = *group.add_rollouts();
      rollout.set_sample(r);
      for (int i = 0; i < 2 + 4 * r; ++i) rollout.add_ids(static_cast<int32_t>(rng.Below(97)));
      rollout.set_reward(rng.Normal());
      const torch::Tensor logprobs =
          reference::Logprobs(config, wide, SequenceOf(group, rollout)).detach();
      for (int i = 0; i < rollout.ids_size(); ++i) {
        rollout.add_sampling_logprobs(static_cast<float>(
            logprobs[group.prompt_ids_size() - 1 + i].item<double>() + noise * rng.Normal()));
      }
    }
  }
  return batch;
}

// Makes two rollouts of a batch imitated: the best of the first group, and the worst of the second,
// which has nothing to teach.
inline void Imitate(v1::GrpoBatch* batch, double weight) {
  batch->mutable_settings()->set_imitation_weight(weight);
  const auto less = [](const v1::Rollout& a, const v1::Rollout& b) {
    return a.reward() < b.reward();
  };
  auto& first = *batch->mutable_groups(0)->mutable_rollouts();
  auto& second = *batch->mutable_groups(1)->mutable_rollouts();
  std::max_element(first.begin(), first.end(), less)->set_imitated(true);
  std::min_element(second.begin(), second.end(), less)->set_imitated(true);
}

inline StepSettings Sgd(double lr) {
  // With betas 0 and a huge eps AdamW is plain gradient descent with rate lr / eps.
  StepSettings settings;
  settings.adamw = {.lr = lr * 1e6, .beta1 = 0, .beta2 = 0, .eps = 1e6, .weight_decay = 0};
  return settings;
}

inline UpdateResult Must(absl::StatusOr<UpdateResult> result) {
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : UpdateResult{};
}

// Draws one more token from the policy for every rollout of the group.
inline void SampleToken(const ModelConfig& config, const Weights& weights, Philox& rng,
                        v1::RolloutGroup& group) {
  std::vector<LearnedSequence> sequences;
  for (const v1::Rollout& rollout : group.rollouts()) {
    std::vector<int32_t> ids = SequenceOf(group, rollout);
    ids.push_back(0);  // the place of the next token
    sequences.push_back({.ids = ids, .learn_from = static_cast<int64_t>(ids.size()) - 1});
  }
  const PackedBatch packed = Pack(sequences, {.tokens = 1 << 20, .tokens_max = 1 << 20})[0];
  DecoderPass pass(config, weights);
  torch::NoGradGuard no_grad;
  const torch::Tensor logits =
      torch::mm(pass.Forward(packed, DecoderPass::Keep::kNothing), weights.lm_head.t());
  std::vector<int64_t> rows(sequences.size());
  for (const Path& path : packed.paths) {
    rows[path.sequence] = packed.targets[path.targets[0]].row;
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    v1::Rollout& rollout = *group.mutable_rollouts(static_cast<int>(r));
    const torch::Tensor p = torch::softmax(logits[rows[r]].to(torch::kDouble), -1);
    double left = rng.Uniform();
    int32_t id = 0;
    for (; id < 96; ++id) {
      left -= p[id].item<double>();
      if (left < 0) break;
    }
    rollout.add_ids(id);
    rollout.add_sampling_logprobs(static_cast<float>(std::log(p[id].item<double>())));
  }
}

// Makes one step of the toy task: 16 rollouts of four tokens, rewarded by how many of them are 42.
// The optimum is 4; the untrained policy has about 0.04. `mean` becomes the rollouts' mean reward.
inline v1::GrpoBatch ToyBatch(const ModelConfig& config, const Weights& weights, Philox& rng,
                              double* mean) {
  v1::GrpoBatch batch;
  *batch.mutable_settings() = DefaultSettings();
  v1::RolloutGroup& group = *batch.add_groups();
  for (const int id : {1, 2, 3}) group.add_prompt_ids(id);
  for (int r = 0; r < 16; ++r) group.add_rollouts()->set_sample(r);
  for (int i = 0; i < 4; ++i) SampleToken(config, weights, rng, group);
  *mean = 0;
  for (v1::Rollout& rollout : *group.mutable_rollouts()) {
    const auto hits = std::count(rollout.ids().begin(), rollout.ids().end(), 42);
    rollout.set_reward(static_cast<double>(hits));
    *mean += static_cast<double>(hits) / 16;
  }
  return batch;
}

struct ReferenceUpdate {
  double loss = 0;  // both: mean over the minibatches
  double grad_norm = 0;
  std::vector<float> weights;
};

// Does as Learner::Grpo with plain gradient descent (Sgd), every sequence by itself, in fp64
// autograd. Every group of `batch` must have spread.
inline ReferenceUpdate GrpoInFp64(const ModelConfig& config, const Weights& weights,
                                  const v1::GrpoBatch& batch, double lr,
                                  const ReferenceModel* frozen) {
  const GrpoPlan plan = *ParseGrpoSettings(batch.settings());
  Weights leaves = reference::DoubleLeaves(config, weights);
  std::optional<Weights> frozen_leaves;
  if (frozen != nullptr) {
    frozen_leaves = reference::DoubleLeaves(frozen->config, frozen->weights);
  }

  struct Item {
    std::vector<int32_t> ids;
    int64_t prompt, n;
    reference::Sequence sequence;  // policy: filled in at its step
  };
  // Log-probabilities and entropies [n] of the completion's tokens.
  const auto forward = [&](const ModelConfig& c, const Weights& w, const Item& item) {
    const torch::Tensor log_p =
        torch::log_softmax(reference::Logits(c, w, item.ids) / plan.temperature, -1)
            .narrow(0, item.prompt - 1, item.n);
    const torch::Tensor next = torch::tensor(
        std::vector<int64_t>(item.ids.begin() + item.prompt, item.ids.end()), torch::kLong);
    return std::pair(log_p.gather(1, next.unsqueeze(1)).squeeze(1), -(log_p.exp() * log_p).sum(-1));
  };

  torch::Tensor all_rewards = torch::zeros({0}, torch::kDouble);
  const auto rewards_of = [](const v1::RolloutGroup& group) {
    std::vector<double> rewards;
    for (const v1::Rollout& r : group.rollouts()) {
      if (!r.dropped()) rewards.push_back(r.reward());
    }
    return torch::tensor(rewards, torch::kDouble);
  };
  for (const v1::RolloutGroup& group : batch.groups()) {
    all_rewards = torch::cat({all_rewards, rewards_of(group)});
  }
  std::vector<std::vector<Item>> minibatches(static_cast<size_t>(plan.minibatches));
  for (const v1::RolloutGroup& group : batch.groups()) {
    const torch::Tensor rewards = rewards_of(group);
    const double count = static_cast<double>(rewards.numel());
    size_t next = 0;
    for (const v1::Rollout& r : group.rollouts()) {
      if (r.dropped() || (plan.mask_truncated && r.truncated())) continue;
      const double others = (rewards.sum().item<double>() - r.reward()) / (count - 1);
      double advantage = r.reward() - rewards.mean().item<double>();
      if (plan.scale == AdvantageScale::kGroup) advantage /= rewards.std().item<double>() + 1e-4;
      if (plan.scale == AdvantageScale::kBatch) {
        advantage /= all_rewards.std().item<double>() + 1e-4;
      }
      if (plan.scale == AdvantageScale::kLeaveOneOut) advantage = r.reward() - others;
      if (plan.scale == AdvantageScale::kEntropic) {
        // KL(softmax(b r) | uniform) = ln 2.
        double low = 0, high = 1e6;
        torch::Tensor q;
        for (int i = 0; i < 200; ++i) {
          const double b = 0.5 * (low + high);
          q = torch::softmax(b * rewards, 0);
          const double kl = (q * (q * count).log()).nan_to_num().sum().item<double>();
          (kl < std::log(2.0) ? low : high) = b;
        }
        advantage = count * (q * (rewards == r.reward())).max().item<double>() - 1;
      }
      if (r.imitated() && advantage <= 0) continue;
      Item item{.ids = SequenceOf(group, r),
                .prompt = group.prompt_ids_size(),
                .n = r.ids_size(),
                .sequence = {}};
      item.sequence.advantage = advantage;
      item.sequence.imitated = r.imitated();
      item.sequence.old = forward(config, leaves, item).first.detach();
      item.sequence.sampling = torch::tensor(std::vector<float>(r.sampling_logprobs().begin(),
                                                                r.sampling_logprobs().end()))
                                   .to(torch::kDouble);
      if (frozen != nullptr) {
        item.sequence.reference = forward(frozen->config, *frozen_leaves, item).first.detach();
      }
      minibatches[next++ % minibatches.size()].push_back(std::move(item));
    }
  }

  ReferenceUpdate out;
  for (std::vector<Item>& items : minibatches) {
    std::vector<reference::Sequence> sequences;
    torch::Tensor entropy = torch::zeros({}, torch::kDouble);
    double tokens = 0;
    for (Item& item : items) {
      const auto [policy, entropies] = forward(config, leaves, item);
      item.sequence.policy = policy;
      sequences.push_back(item.sequence);
      entropy = entropy + entropies.sum();
      tokens += static_cast<double>(item.n);
    }
    const torch::Tensor loss =
        reference::StepLoss(plan.loss, sequences) - plan.loss.entropy_bonus * entropy / tokens;
    loss.backward();
    torch::NoGradGuard no_grad;
    double squares = 0;
    for (const auto& [name, leaf] : leaves.Named()) {
      torch::Tensor handle = leaf;
      squares += leaf.grad().square().sum().item<double>();
      handle.sub_(leaf.grad() * lr);
      handle.mutable_grad().reset();
    }
    out.loss += loss.item<double>() / static_cast<double>(minibatches.size());
    out.grad_norm += std::sqrt(squares) / static_cast<double>(minibatches.size());
  }
  out.weights = Flat(leaves);
  return out;
}

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TRAIN_LEARNER_LEARNER_TESTING_H_
