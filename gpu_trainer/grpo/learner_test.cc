#include "gpu_trainer/grpo/learner.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/philox.h"
#include "gpu_trainer/grpo/reference.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

// A policy of the tiny model that can be copied into a fresh start.
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

std::vector<float> Flat(const NamedTensors& tensors) {
  std::vector<float> all;
  for (const auto& [name, tensor] : tensors) {
    const torch::Tensor t = tensor.to(torch::kFloat).contiguous();
    all.insert(all.end(), t.data_ptr<float>(), t.data_ptr<float>() + t.numel());
  }
  return all;
}

std::vector<float> Flat(const Weights& weights) { return Flat(weights.Named()); }

double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

v1::GrpoSettings DefaultSettings() {
  v1::GrpoSettings s;
  s.set_loss(v1::GrpoSettings::DAPO);
  s.set_clip_low(0.2);
  s.set_clip_high(0.28);
  s.set_advantage_scale(v1::GrpoSettings::GROUP);
  s.set_minibatches(1);
  s.set_max_new_tokens(32);
  s.set_importance_cap(2);
  s.set_temperature(1);
  return s;
}

std::vector<int32_t> SequenceOf(const v1::RolloutGroup& group, const v1::Rollout& rollout) {
  std::vector<int32_t> ids(group.prompt_ids().begin(), group.prompt_ids().end());
  ids.insert(ids.end(), rollout.ids().begin(), rollout.ids().end());
  return ids;
}

// Two groups of four rollouts of different lengths; sampling logprobs are the policy's own plus
// noise.
v1::GrpoBatch MakeBatch(const ModelConfig& config, const Weights& weights, double noise = 0) {
  const Weights wide = reference::DoubleLeaves(config, weights);
  Philox rng(11, {1, 0, 0, 0});
  v1::GrpoBatch batch;
  *batch.mutable_settings() = DefaultSettings();
  for (int g = 0; g < 2; ++g) {
    v1::RolloutGroup& group = *batch.add_groups();
    group.set_problem(g);
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

StepSettings Sgd(double lr) {
  // With betas 0 and a huge eps AdamW is plain gradient descent with rate lr / eps.
  StepSettings settings;
  settings.adamw = {.lr = lr * 1e6, .beta1 = 0, .beta2 = 0, .eps = 1e6, .weight_decay = 0};
  return settings;
}

UpdateResult Must(absl::StatusOr<UpdateResult> result) {
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : UpdateResult{};
}

// Every loss with off-policy sampling logprobs: the loss, and the step it makes, against fp64.
TEST(Learner, EachLossEqualsTheFp64Reference) {
  for (const auto kind :
       {v1::GrpoSettings::GRPO, v1::GrpoSettings::DR_GRPO, v1::GrpoSettings::DAPO}) {
    Fixture f;
    v1::GrpoBatch batch = MakeBatch(f.config, f.weights, /*noise=*/0.5);
    batch.mutable_settings()->set_loss(kind);
    batch.mutable_groups(0)->mutable_rollouts(2)->set_dropped(true);

    Weights leaves = reference::DoubleLeaves(f.config, f.weights);
    LossSettings settings{.max_new_tokens = 32};
    torch::Tensor loss = torch::zeros({}, torch::kDouble);
    double sequences = 0, tokens = 0;
    for (const v1::RolloutGroup& group : batch.groups()) {
      std::vector<double> rewards;
      for (const v1::Rollout& r : group.rollouts()) {
        if (!r.dropped()) rewards.push_back(r.reward());
      }
      const torch::Tensor all = torch::tensor(rewards, torch::kDouble);
      for (const v1::Rollout& r : group.rollouts()) {
        if (r.dropped()) continue;
        const double advantage = ((r.reward() - all.mean()) / (all.std() + 1e-4)).item<double>();
        const torch::Tensor policy = reference::Logprobs(f.config, leaves, SequenceOf(group, r))
                                         .narrow(0, group.prompt_ids_size() - 1, r.ids_size());
        const torch::Tensor sampling = torch::tensor(
            std::vector<float>(r.sampling_logprobs().begin(), r.sampling_logprobs().end()));
        const torch::Tensor losses =
            reference::TokenLosses(settings, policy, policy.detach(), sampling.to(torch::kDouble),
                                   torch::full({r.ids_size()}, advantage, torch::kDouble));
        if (kind == v1::GrpoSettings::GRPO) {
          loss = loss + losses.mean();
        } else {
          loss = loss + losses.sum();
        }
        ++sequences;
        tokens += r.ids_size();
      }
    }
    if (kind == v1::GrpoSettings::GRPO) loss = loss / sequences;
    if (kind == v1::GrpoSettings::DR_GRPO) loss = loss / (sequences * 32);
    if (kind == v1::GrpoSettings::DAPO) loss = loss / tokens;
    loss.backward();

    const std::vector<float> before = Flat(f.weights);
    const UpdateResult got = Must(f.learner.Grpo(batch, Sgd(1.0)));
    EXPECT_NEAR(got.metrics.at("loss"), loss.item<double>(), 1e-6);
    const std::vector<float> after = Flat(f.weights);
    std::vector<float> gradient;
    for (const auto& [name, leaf] : leaves.Named()) {
      const torch::Tensor g = leaf.grad().to(torch::kFloat).contiguous();
      gradient.insert(gradient.end(), g.data_ptr<float>(), g.data_ptr<float>() + g.numel());
    }
    std::vector<float> expected = before;
    for (size_t i = 0; i < expected.size(); ++i) expected[i] -= gradient[i];
    const double norm = Distance(expected, before);
    EXPECT_NEAR(got.metrics.at("grad_norm"), norm, 1e-4 * norm);
    EXPECT_LT(Distance(after, expected), 2e-4 * norm);
  }
}

TEST(Learner, OnPolicyRatiosAreOneAndLaterMinibatchesAreNot) {
  Fixture f;
  v1::GrpoBatch batch = MakeBatch(f.config, f.weights);
  StepSettings settings;
  settings.adamw.lr = 1e-2;
  const UpdateResult one = Must(f.learner.Grpo(batch, settings));
  EXPECT_LT(std::abs(one.metrics.at("ppo_kl")), 1e-6);
  EXPECT_EQ(one.metrics.at("clip_ratio/region_mean"), 0);
  EXPECT_NEAR(one.metrics.at("sampling/importance_sampling_ratio/mean"), 1, 1e-4);

  Fixture four;
  batch.mutable_settings()->set_minibatches(4);
  const UpdateResult many = Must(four.learner.Grpo(batch, settings));
  EXPECT_GT(std::abs(many.metrics.at("ppo_kl")), 1e-3);
  EXPECT_GT(many.metrics.at("clip_ratio/region_mean"), 0.01);
  EXPECT_EQ(four.learner.optimizer().steps(), 4);
}

TEST(Learner, LearningRateZeroLeavesWeightsBitwiseUnchanged) {
  for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
    Fixture f(dtype);
    const std::vector<float> before = Flat(f.weights);
    StepSettings settings;
    settings.adamw.lr = 0;
    settings.adamw.weight_decay = 0.1;
    const UpdateResult result = Must(f.learner.Grpo(MakeBatch(f.config, f.weights), settings));
    EXPECT_TRUE(result.applied);
    EXPECT_GT(result.metrics.at("grad_norm"), 0);
    EXPECT_EQ(Flat(f.weights), before);
  }
}

TEST(Learner, MicroBatchesDoNotMatter) {
  Fixture whole;
  const v1::GrpoBatch batch = MakeBatch(whole.config, whole.weights);
  const UpdateResult want = Must(whole.learner.Grpo(batch, Sgd(1.0)));
  for (const int64_t budget : {1, 20, 40}) {
    Fixture f(torch::kFloat, budget);
    const UpdateResult got = Must(f.learner.Grpo(batch, Sgd(1.0)));
    EXPECT_NEAR(got.metrics.at("loss"), want.metrics.at("loss"), 1e-6);
    EXPECT_NEAR(got.metrics.at("grad_norm"), want.metrics.at("grad_norm"),
                1e-4 * want.metrics.at("grad_norm"));
  }
}

TEST(Learner, TheSameUpdateTwiceIsTheSameBitForBit) {
  Fixture a(torch::kBFloat16), b(torch::kBFloat16);
  const v1::GrpoBatch batch = MakeBatch(a.config, a.weights, 0.3);
  StepSettings settings;
  settings.adamw.lr = 1e-3;
  for (int i = 0; i < 3; ++i) {
    Must(a.learner.Grpo(batch, settings));
    Must(b.learner.Grpo(batch, settings));
  }
  EXPECT_EQ(Flat(a.learner.optimizer().Masters()), Flat(b.learner.optimizer().Masters()));
}

TEST(Learner, AGroupWithoutSpreadContributesExactlyNothing) {
  Fixture with, without;
  v1::GrpoBatch batch = MakeBatch(with.config, with.weights, 0.3);
  for (v1::Rollout& r : *batch.mutable_groups(1)->mutable_rollouts()) r.set_reward(0.25);
  v1::GrpoBatch alone = batch;
  alone.mutable_groups()->RemoveLast();
  StepSettings settings;
  settings.adamw.lr = 1e-3;
  const UpdateResult result = Must(with.learner.Grpo(batch, settings));
  Must(without.learner.Grpo(alone, settings));
  EXPECT_EQ(result.metrics.at("frac_reward_zero_std"), 0.5);
  EXPECT_EQ(Flat(with.weights), Flat(without.weights));
}

TEST(Learner, NothingToLearnMovesNothing) {
  Fixture f;
  v1::GrpoBatch batch = MakeBatch(f.config, f.weights);
  StepSettings settings;
  settings.adamw.lr = 1e-2;
  Must(f.learner.Grpo(batch, settings));  // moments that would go on moving the weights
  const std::vector<float> before = Flat(f.weights);
  for (v1::Rollout& r : *batch.mutable_groups(0)->mutable_rollouts()) r.set_dropped(true);
  for (v1::Rollout& r : *batch.mutable_groups(1)->mutable_rollouts()) {
    r.set_dropped(r.sample() != 2);
  }
  const UpdateResult result = Must(f.learner.Grpo(batch, settings));
  EXPECT_TRUE(result.applied);
  for (const auto& [name, value] : result.metrics) EXPECT_TRUE(std::isfinite(value)) << name;
  EXPECT_EQ(result.metrics.at("grad_norm"), 0);
  EXPECT_EQ(Flat(f.weights), before);
}

TEST(Learner, NotFiniteSkipsTheUpdateAndNamesTheTensor) {
  Fixture f;
  const v1::GrpoBatch batch = MakeBatch(f.config, f.weights);
  StepSettings settings;
  settings.adamw.lr = 1e-3;
  const std::vector<float> before = Flat(f.weights);
  torch::Tensor down = f.weights.layers[1].down;
  const torch::Tensor saved = down.clone();
  down.fill_(3e38);
  const UpdateResult loss = Must(f.learner.Grpo(batch, settings));
  EXPECT_FALSE(loss.applied);
  EXPECT_THAT(loss.skip_reason, HasSubstr("the loss is"));
  down.copy_(saved);
  EXPECT_EQ(Flat(f.weights), before);

  // Rewards whose loss is finite in double, but no gradient is in float.
  v1::GrpoBatch huge = batch;
  huge.mutable_settings()->set_advantage_scale(v1::GrpoSettings::NONE);
  huge.mutable_groups(0)->mutable_rollouts(0)->set_reward(1e300);
  const UpdateResult gradient = Must(f.learner.Grpo(huge, settings));
  EXPECT_FALSE(gradient.applied);
  EXPECT_THAT(gradient.skip_reason, HasSubstr("the gradient of embed is not finite"));
  EXPECT_EQ(Flat(f.weights), before);
  EXPECT_EQ(f.learner.optimizer().steps(), 0);

  // And the campaign goes on.
  EXPECT_TRUE(Must(f.learner.Grpo(batch, settings)).applied);
  EXPECT_NE(Flat(f.weights), before);
}

TEST(Learner, ClippingBoundsTheStep) {
  Fixture free, clipped;
  const v1::GrpoBatch batch = MakeBatch(free.config, free.weights);
  const std::vector<float> start = Flat(free.weights);
  const double norm = Must(free.learner.Grpo(batch, Sgd(1.0))).metrics.at("grad_norm");
  StepSettings settings = Sgd(1.0);
  settings.max_grad_norm = norm / 4;
  EXPECT_NEAR(Must(clipped.learner.Grpo(batch, settings)).metrics.at("grad_norm"), norm, 1e-6);
  EXPECT_NEAR(Distance(Flat(clipped.weights), start), norm / 4, 1e-3 * norm);
}

TEST(Learner, BadRequestsAreNamedAndChangeNothing) {
  Fixture f;
  const v1::GrpoBatch good = MakeBatch(f.config, f.weights);
  const std::vector<float> before = Flat(f.weights);
  const auto refused = [&](const std::function<void(v1::GrpoBatch&)>& spoil,
                           const std::string& text) {
    v1::GrpoBatch batch = good;
    spoil(batch);
    const absl::StatusOr<UpdateResult> result = f.learner.Grpo(batch, {});
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(result.status().message()), HasSubstr(text));
  };
  refused([](auto& b) { b.mutable_groups(1)->mutable_rollouts(3)->set_ids(0, 97); },
          "groups[1].rollouts[3]: token 0 is 97, outside the vocabulary of 97");
  refused([](auto& b) { b.mutable_groups(0)->mutable_rollouts(1)->set_reward(NAN); },
          "groups[0].rollouts[1]: the reward is nan");
  refused([](auto& b) { b.mutable_groups(0)->mutable_rollouts(1)->add_ids(1); },
          "7 ids but 6 sampling_logprobs");
  refused([](auto& b) { b.mutable_groups(0)->clear_prompt_ids(); }, "no prompt_ids");
  refused([](auto& b) { b.mutable_settings()->clear_loss(); }, "valid: GRPO, DR_GRPO, DAPO");
  refused([](auto& b) { b.mutable_settings()->set_clip_low(0); }, "clip_low");
  refused(
      [](auto& b) {
        for (int i = 0; i < 300; ++i) b.mutable_groups(0)->add_prompt_ids(1);
      },
      "context of 256");
  EXPECT_EQ(Flat(f.weights), before);
}

// One more token for every rollout of the group, drawn from the policy.
void SampleToken(const ModelConfig& config, const Weights& weights, Philox& rng,
                 v1::RolloutGroup& group) {
  Tree tree{.prefix = {group.prompt_ids().begin(), group.prompt_ids().end()}, .branches = {}};
  for (const v1::Rollout& rollout : group.rollouts()) {
    tree.branches.push_back({.ids = {rollout.ids().begin(), rollout.ids().end()}, .learn_from = 0});
    tree.branches.back().ids.push_back(0);  // the place of the next token
  }
  const PackedBatch packed = Pack({tree}, 1 << 20)[0];
  DecoderPass pass(config, weights);
  torch::NoGradGuard no_grad;
  const torch::Tensor logits =
      torch::mm(pass.Forward(packed, DecoderPass::Keep::kNothing), weights.lm_head.t());
  for (const Target& target : packed.targets) {
    v1::Rollout& rollout = *group.mutable_rollouts(target.branch);
    if (target.token != rollout.ids_size()) continue;
    const torch::Tensor p = torch::softmax(logits[target.row].to(torch::kDouble), -1);
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

// Reward: how many of six tokens are 42. The optimum is 6; the untrained policy has about 0.06.
TEST(Learner, AToyTaskIsLearned) {
  Fixture f;
  Philox rng(5, {9, 9, 9, 9});
  StepSettings settings;
  settings.adamw.lr = 1e-2;
  settings.max_grad_norm = 1;
  double mean = 0;
  for (int step = 0; step < 40; ++step) {
    v1::GrpoBatch batch;
    *batch.mutable_settings() = DefaultSettings();
    v1::RolloutGroup& group = *batch.add_groups();
    for (const int id : {1, 2, 3}) group.add_prompt_ids(id);
    for (int r = 0; r < 16; ++r) group.add_rollouts()->set_sample(r);
    for (int i = 0; i < 6; ++i) SampleToken(f.config, f.weights, rng, group);
    mean = 0;
    for (v1::Rollout& rollout : *group.mutable_rollouts()) {
      const auto hits = std::count(rollout.ids().begin(), rollout.ids().end(), 42);
      rollout.set_reward(static_cast<double>(hits));
      mean += static_cast<double>(hits) / 16;
    }
    Must(f.learner.Grpo(batch, settings));
  }
  EXPECT_GT(mean, 4.5);
}

TEST(Learner, SupervisedEqualsMeanCrossEntropyOfTheLearnedTokens) {
  Fixture f;
  const std::vector<LearnedSequence> batch = {{.ids = {5, 6, 7, 8, 9, 10}, .learn_from = 4},
                                              {.ids = {5, 6, 70, 71, 72}, .learn_from = 2},
                                              {.ids = {11, 12, 13}, .learn_from = 1}};
  Weights leaves = reference::DoubleLeaves(f.config, f.weights);
  torch::Tensor loss = torch::zeros({}, torch::kDouble);
  double tokens = 0;
  for (const LearnedSequence& s : batch) {
    const int64_t n = static_cast<int64_t>(s.ids.size()) - s.learn_from;
    loss = loss - reference::Logprobs(f.config, leaves, s.ids).narrow(0, s.learn_from - 1, n).sum();
    tokens += static_cast<double>(n);
  }
  loss = loss / tokens;
  loss.backward();
  double squares = 0;
  for (const auto& [name, leaf] : leaves.Named()) {
    squares += leaf.grad().square().sum().item<double>();
  }
  const UpdateResult got = Must(f.learner.Supervised(batch, Sgd(1.0)));
  EXPECT_NEAR(got.metrics.at("loss"), loss.item<double>(), 1e-5);
  EXPECT_NEAR(got.metrics.at("grad_norm"), std::sqrt(squares), 1e-4 * std::sqrt(squares));
  EXPECT_EQ(got.metrics.at("num_tokens"), tokens);

  Fixture overfit;
  StepSettings settings;
  settings.adamw.lr = 1e-2;
  for (int i = 0; i < 30; ++i) Must(overfit.learner.Supervised(batch, settings));
  EXPECT_LT(Must(overfit.learner.Supervised(batch, settings)).metrics.at("loss"), 0.1);
}

TEST(ShareCommonPrefix, KeepsEveryLearnedTokenInItsBranch) {
  const std::vector<Tree> trees = ShareCommonPrefix({{.ids = {1, 2, 3, 4}, .learn_from = 2},
                                                     {.ids = {1, 2, 3, 4, 5}, .learn_from = 3},
                                                     {.ids = {9, 2}, .learn_from = 1}});
  ASSERT_EQ(trees.size(), 2u);
  EXPECT_EQ(trees[0].prefix, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(trees[0].branches[0].learn_from, 0);
  EXPECT_EQ(trees[0].branches[1].learn_from, 1);
  EXPECT_EQ(trees[1].prefix, (std::vector<int32_t>{9}));
}

}  // namespace
}  // namespace whetstone
