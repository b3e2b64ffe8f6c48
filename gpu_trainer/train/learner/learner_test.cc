#include "gpu_trainer/train/learner/learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gpu_trainer/train/learner/learner_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

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

TEST(Learner, NothingToLearnMovesNothing) {
  Fixture f;
  v1::GrpoBatch batch = MakeBatch(f.config, f.weights);
  StepSettings settings;
  settings.adamw.lr = 1e-2;
  Must(f.learner.Grpo(batch, settings));  // Its moments would go on moving the weights.
  const std::vector<float> before = Flat(f.weights);
  for (v1::Rollout& r : *batch.mutable_groups(0)->mutable_rollouts()) r.set_dropped(true);
  for (v1::Rollout& r : *batch.mutable_groups(1)->mutable_rollouts()) {
    r.set_dropped(r.sample() != 2);
  }
  for (const bool no_groups : {false, true}) {
    if (no_groups) batch.clear_groups();  // All were discarded.
    const UpdateResult result = Must(f.learner.Grpo(batch, settings));
    EXPECT_TRUE(result.applied);
    for (const auto& [name, value] : result.metrics) EXPECT_TRUE(std::isfinite(value)) << name;
    EXPECT_EQ(result.metrics.at("grad_norm"), 0);
    EXPECT_EQ(Flat(f.weights), before);
  }
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
  EXPECT_THAT(loss.skip_reason, HasSubstr("all weights are finite; first at token 0 of sample "));
  down[3][5] = NAN;
  EXPECT_THAT(Must(f.learner.Grpo(batch, settings)).skip_reason,
              HasSubstr("the weight layers.1.down is not finite"));
  down.copy_(saved);
  EXPECT_EQ(Flat(f.weights), before);

  // The rewards give a loss that is finite in double, but no gradient that is in float.
  v1::GrpoBatch huge = batch;
  huge.mutable_settings()->set_advantage_scale(v1::GrpoSettings::NONE);
  huge.mutable_groups(0)->mutable_rollouts(0)->set_reward(1e300);
  const UpdateResult gradient = Must(f.learner.Grpo(huge, settings));
  EXPECT_FALSE(gradient.applied);
  EXPECT_THAT(gradient.skip_reason, HasSubstr("the gradient of embed is not finite"));
  EXPECT_EQ(Flat(f.weights), before);
  EXPECT_EQ(f.learner.optimizer().steps(), 0);

  // The campaign goes on after that.
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
  refused([](auto& b) { b.mutable_groups(1)->mutable_rollouts(0)->set_sampling_logprobs(1, NAN); },
          "groups[1].rollouts[0]: sampling_logprobs[1] is nan");
  const auto wrong = [&](const std::function<void(v1::GrpoSettings&)>& spoil,
                         const std::string& text) {
    refused([&](auto& b) { spoil(*b.mutable_settings()); }, text);
  };
  wrong([](auto& s) { s.clear_loss(); }, "valid: GRPO, DR_GRPO, DAPO, GSPO, CISPO");
  wrong([](auto& s) { s.set_clip_low(0); }, "clip_low is 0");
  wrong([](auto& s) { s.set_clip_high(NAN); }, "clip_high is nan");
  wrong([](auto& s) { s.set_dual_clip(1.1); }, "dual_clip is 1.1");
  wrong([](auto& s) { s.set_kl_beta(-1); }, "kl_beta is -1");
  wrong([](auto& s) { s.set_kl_beta(0.1); }, "there is no reference model");
  wrong([](auto& s) { s.set_importance_clip_min(3); }, "importance_clip_max is 2");
  wrong([](auto& s) { s.set_entropy_bonus(NAN); }, "entropy_bonus is nan");
  refused(
      [](auto& b) {
        for (int i = 0; i < 300; ++i) b.mutable_groups(0)->add_prompt_ids(1);
      },
      "context of 256");
  EXPECT_EQ(Flat(f.weights), before);
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

}  // namespace
}  // namespace whetstone
