// These tests show the learner in fp16: what loss scaling is for, and what it does when it was too
// much.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_trainer/kernels/gpu_testing.h"
#include "gpu_trainer/train/learner/learner_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using S = v1::GrpoSettings;

StepSettings Adam() {
  StepSettings settings;
  settings.adamw.lr = 1e-3;
  return settings;
}

// Gradients of the logits are about 1e-9: fp16's least number is 6e-8.
v1::GrpoBatch TinyRewards(const Fixture& f) {
  v1::GrpoBatch batch = MakeBatch(f.config, f.weights);
  batch.mutable_settings()->set_advantage_scale(S::NONE);
  for (v1::RolloutGroup& group : *batch.mutable_groups()) {
    for (v1::Rollout& r : *group.mutable_rollouts()) r.set_reward(1e-7 * r.reward());
  }
  return batch;
}

TEST(LearnerFp16, SmallGradientsSurviveByTheLossScale) {
  Fixture scaled(torch::kHalf), unscaled(torch::kHalf);
  const v1::GrpoBatch batch = TinyRewards(scaled);
  const double want = GrpoInFp64(scaled.config, scaled.weights, batch, /*lr=*/0, nullptr).grad_norm;
  const UpdateResult with = Must(scaled.learner.Grpo(batch, Adam()));
  EXPECT_TRUE(with.applied);
  EXPECT_EQ(with.metrics.at("loss_scale"), 65536);
  EXPECT_NEAR(with.metrics.at("grad_norm"), want, 0.02 * want);

  unscaled.learner.loss_scale()->set_state({.value = 1});
  EXPECT_LT(Must(unscaled.learner.Grpo(batch, Adam())).metrics.at("grad_norm"), 0.5 * want);
}

TEST(LearnerFp16, FollowsTheFp64Reference) {
  Fixture f(torch::kHalf);
  const v1::GrpoBatch batch = MakeBatch(f.config, f.weights, 0.3);
  const std::vector<float> start = Flat(f.learner.optimizer().Masters());
  const ReferenceUpdate want = GrpoInFp64(f.config, f.weights, batch, /*lr=*/1, nullptr);
  StepSettings settings = Sgd(1);
  const UpdateResult got = Must(f.learner.Grpo(batch, settings));
  EXPECT_NEAR(got.metrics.at("grad_norm"), want.grad_norm, 5e-3 * want.grad_norm);
  EXPECT_LT(Distance(Flat(f.learner.optimizer().Masters()), want.weights),
            1e-2 * Distance(want.weights, start));
}

// The same holds on a GPU: flash attention, the head's kernels, LibTorch's operators.
TEST(LearnerGpu, FollowsTheFp64Reference) {
  if (!NoGpuReason().empty()) GTEST_SKIP() << NoGpuReason();
  for (const auto dtype : {torch::kFloat, torch::kBFloat16, torch::kHalf}) {
    const Fixture f(dtype);
    const v1::GrpoBatch batch = MakeBatch(f.config, f.weights, 0.3);
    Weights weights = CopyWeights(f.config, f.weights, dtype, torch::Device(torch::kCUDA, 0));
    Learner learner(f.config, weights, {.token_budget = 1 << 20});
    const ReferenceUpdate want = GrpoInFp64(f.config, f.weights, batch, /*lr=*/1, nullptr);
    const UpdateResult got = Must(learner.Grpo(batch, Sgd(1)));
    EXPECT_TRUE(got.applied);
    const double tolerance = dtype == torch::kFloat ? 1e-4 : dtype == torch::kHalf ? 5e-3 : 3e-2;
    EXPECT_NEAR(got.metrics.at("grad_norm"), want.grad_norm, tolerance * want.grad_norm);
    std::vector<float> moved;
    for (const auto& [name, tensor] : learner.optimizer().Masters()) {
      const torch::Tensor host = tensor.cpu();
      moved.insert(moved.end(), host.data_ptr<float>(), host.data_ptr<float>() + host.numel());
    }
    EXPECT_LT(Distance(moved, want.weights),
              2 * tolerance * Distance(want.weights, Flat(f.weights)));
  }
}

TEST(LearnerFp16, AnOverflowSkipsTheUpdateAndHalvesTheScale) {
  Fixture f(torch::kHalf);
  const v1::GrpoBatch batch = MakeBatch(f.config, f.weights);
  f.learner.loss_scale()->set_state({.value = 0x1p+24, .finite_steps = 7});
  const std::vector<float> before = Flat(f.weights);
  StepSettings settings = Adam();
  settings.spike_factor = 5;
  const UpdateResult skipped = Must(f.learner.Grpo(batch, settings));
  EXPECT_FALSE(skipped.applied);
  EXPECT_THAT(
      skipped.skip_reason,
      HasSubstr("the gradient of embed overflows fp16 at a loss scale of 16777216; the next "
                "update has 8388608"));
  EXPECT_EQ(skipped.metrics.at("loss_scale"), 8388608);
  EXPECT_EQ(f.learner.loss_scale()->state(), (LossScale::State{.value = 0x1p+23}));
  EXPECT_EQ(Flat(f.weights), before);
  EXPECT_EQ(f.learner.optimizer().steps(), 0);
  EXPECT_TRUE(f.learner.outlier_filter().state().norms.empty())
      << "it says nothing about the policy";

  // The loop ends when the scale fits.
  UpdateResult result = skipped;
  for (int i = 0; i < 24 && !result.applied; ++i) result = Must(f.learner.Grpo(batch, settings));
  EXPECT_TRUE(result.applied) << result.skip_reason;
  EXPECT_NE(Flat(f.weights), before);
  EXPECT_EQ(f.learner.loss_scale()->state().finite_steps, 1);
}

TEST(LearnerFp16, WhatIsNotFiniteWithoutAScaleIsAnError) {
  Fixture f(torch::kHalf);
  const v1::GrpoBatch batch = MakeBatch(f.config, f.weights);
  torch::Tensor down = f.weights.layers[1].down;
  down[3][5] = NAN;
  EXPECT_THAT(Must(f.learner.Grpo(batch, Adam())).skip_reason,
              HasSubstr("the weight layers.1.down is not finite"));
  EXPECT_EQ(f.learner.loss_scale()->value(), 65536) << "no scale would help";
}

TEST(LearnerFp16, OtherTypesHaveNoScale) {
  for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
    Fixture f(dtype);
    EXPECT_FALSE(f.learner.loss_scale().has_value());
    const UpdateResult result = Must(f.learner.Grpo(MakeBatch(f.config, f.weights), Adam()));
    EXPECT_EQ(result.metrics.count("loss_scale"), 0u);
  }
}

}  // namespace
}  // namespace whetstone
