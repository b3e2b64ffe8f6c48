// These tests see what GRPO's losses make of a step, as a whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gpu_trainer/train/learner/learner_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using S = v1::GrpoSettings;

constexpr S::Loss kLosses[] = {S::GRPO, S::DR_GRPO, S::DAPO, S::GSPO, S::CISPO};

// Returns another model of the same vocabulary.
ReferenceModel Frozen() {
  const ModelConfig config = reference::TinyConfig(ModelFamily::kQwen3, /*tied=*/false);
  return {config, reference::TinyWeights(config, torch::kFloat, /*seed=*/2)};
}

// Returns a batch with everything that can be switched on.
v1::GrpoBatch FullBatch(const Fixture& f, S::Loss loss) {
  v1::GrpoBatch batch = MakeBatch(f.config, f.weights, /*noise=*/0.3);
  S& s = *batch.mutable_settings();
  s.set_loss(loss);
  s.set_importance(S::SEQUENCE_TRUNCATE);
  s.set_kl_beta(0.05);
  s.set_entropy_bonus(0.01);
  s.set_minibatches(2);
  return batch;
}

struct Case {
  S::Loss loss;
  S::Importance importance;
  S::AdvantageScale scale;
  S::KlEstimator estimator;
  int minibatches;
  double kl_beta, entropy_bonus, dual_clip;
};

// The value, gradient norm and steps made are the reference's, with several minibatches too: the
// first one is on policy, the second one off it.
TEST(LearnerGrpo, EveryLossEqualsTheFp64Reference) {
  const Case cases[] = {
      {S::GRPO, S::TOKEN_TRUNCATE, S::GROUP, S::K1, 1, 0, 0, 0},
      {S::DR_GRPO, S::TOKEN_MASK, S::NONE, S::K2, 2, 0.1, 0, 3},
      {S::DAPO, S::SEQUENCE_TRUNCATE, S::BATCH, S::K3, 2, 0.1, 0.02, 0},
      {S::GSPO, S::TOKEN_TRUNCATE, S::GROUP, S::K1, 1, 0.1, 0, 0},
      {S::GSPO, S::GEOMETRIC_MASK, S::LEAVE_ONE_OUT, S::K3, 2, 0, 0.02, 1.5},
      {S::CISPO, S::SEQUENCE_MASK, S::GROUP, S::K1, 2, 0.1, 0, 0},
  };
  const ReferenceModel frozen = Frozen();
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << S::Loss_Name(c.loss) << " x" << c.minibatches);
    Fixture f;
    v1::GrpoBatch batch = MakeBatch(f.config, f.weights, /*noise=*/0.5);
    S& s = *batch.mutable_settings();
    s.set_loss(c.loss);
    s.set_importance(c.importance);
    s.set_importance_clip_min(0.4);
    s.set_advantage_scale(c.scale);
    s.set_kl_estimator(c.estimator);
    s.set_kl_beta(c.kl_beta);
    s.set_minibatches(c.minibatches);
    s.set_entropy_bonus(c.entropy_bonus);
    s.set_dual_clip(c.dual_clip);
    s.set_temperature(0.9);
    s.set_mask_truncated(true);
    batch.mutable_groups(0)->mutable_rollouts(2)->set_dropped(true);
    batch.mutable_groups(1)->mutable_rollouts(1)->set_truncated(true);

    const std::vector<float> before = Flat(f.weights);
    constexpr double kRate = 0.3;
    const ReferenceUpdate want = GrpoInFp64(f.config, f.weights, batch, kRate, &frozen);
    const UpdateResult got = Must(f.learner.Grpo(batch, Sgd(kRate), &frozen));
    EXPECT_TRUE(got.applied) << got.skip_reason;
    EXPECT_NEAR(got.metrics.at("loss"), want.loss, 1e-5);
    EXPECT_NEAR(got.metrics.at("grad_norm"), want.grad_norm, 1e-3 * want.grad_norm);
    const double moved = Distance(want.weights, before);
    EXPECT_GT(moved, 1e-3);
    EXPECT_LT(Distance(Flat(f.weights), want.weights), 1e-3 * moved);
  }
}

TEST(LearnerGrpo, ImitatedRolloutsEqualTheFp64ReferenceWithEveryLossAndScale) {
  const ReferenceModel frozen = Frozen();
  const std::pair<S::Loss, S::AdvantageScale> cases[] = {
      {S::DAPO, S::GROUP},          {S::GRPO, S::BATCH},    {S::GSPO, S::NONE},
      {S::CISPO, S::LEAVE_ONE_OUT}, {S::DR_GRPO, S::GROUP}, {S::DAPO, S::ENTROPIC}};
  for (const auto& [loss, scale] : cases) {
    SCOPED_TRACE(S::Loss_Name(loss));
    Fixture f;
    v1::GrpoBatch batch = FullBatch(f, loss);
    batch.mutable_settings()->set_advantage_scale(scale);
    Imitate(&batch, 0.6);
    const std::vector<float> before = Flat(f.weights);
    constexpr double kRate = 0.3;
    const ReferenceUpdate want = GrpoInFp64(f.config, f.weights, batch, kRate, &frozen);
    const UpdateResult got = Must(f.learner.Grpo(batch, Sgd(kRate), &frozen));
    EXPECT_NEAR(got.metrics.at("loss"), want.loss, 1e-5);
    EXPECT_NEAR(got.metrics.at("grad_norm"), want.grad_norm, 1e-3 * want.grad_norm);
    EXPECT_LT(Distance(Flat(f.weights), want.weights), 1e-3 * Distance(want.weights, before));
    EXPECT_EQ(got.metrics.at("imitation/rollouts"), 2);
    EXPECT_NE(got.metrics.at("imitation/logp_difference"), 0);
  }
}

// The group's own rollouts all failed alike: alone they teach nothing, beside a remembered program
// that they do.
TEST(LearnerGrpo, AnImitatedRolloutTeachesACollapsedGroup) {
  Fixture f;
  v1::GrpoBatch batch = MakeBatch(f.config, f.weights);
  for (v1::RolloutGroup& group : *batch.mutable_groups()) {
    for (v1::Rollout& rollout : *group.mutable_rollouts()) rollout.set_reward(-0.25);
  }
  const std::vector<float> before = Flat(f.weights);
  Must(f.learner.Grpo(batch, Sgd(0.1)));
  EXPECT_EQ(Flat(f.weights), before);
  batch.mutable_groups(0)->mutable_rollouts(3)->set_reward(0.8);
  batch.mutable_groups(0)->mutable_rollouts(3)->set_imitated(true);
  EXPECT_THAT(std::string(f.learner.Grpo(batch, Sgd(0.1)).status().message()),
              HasSubstr("settings.imitation_weight is 0"));
  batch.mutable_settings()->set_imitation_weight(1);
  for (int i = 0; i < 5; ++i) Must(f.learner.Grpo(batch, Sgd(0.1)));
  const UpdateResult after = Must(f.learner.Grpo(batch, Sgd(0.1)));
  EXPECT_GT(after.metrics.at("imitation/logp_difference"), 0) << "likelier than it was sampled";
  EXPECT_DOUBLE_EQ(after.metrics.at("reward"), -0.25) << "the group's own";
}

TEST(LearnerGrpo, RatiosAreOneOnPolicyAndNotLater) {
  for (const S::Loss loss : kLosses) {
    SCOPED_TRACE(S::Loss_Name(loss));
    Fixture f, four;
    v1::GrpoBatch batch = MakeBatch(f.config, f.weights);
    batch.mutable_settings()->set_loss(loss);
    StepSettings settings;
    settings.adamw.lr = 1e-2;
    const UpdateResult one = Must(f.learner.Grpo(batch, settings));
    EXPECT_LT(std::abs(one.metrics.at("ppo_kl")), 1e-6);
    EXPECT_EQ(one.metrics.at("clip_ratio/region_mean"), 0);
    EXPECT_NEAR(one.metrics.at("sampling/importance_sampling_ratio/mean"), 1, 1e-4);
    EXPECT_EQ(f.learner.optimizer().steps(), 1);

    batch.mutable_settings()->set_minibatches(4);
    const UpdateResult many = Must(four.learner.Grpo(batch, settings));
    EXPECT_GT(std::abs(many.metrics.at("ppo_kl")), 1e-3);
    EXPECT_GT(many.metrics.at("clip_ratio/region_mean"), 0.01);
    EXPECT_EQ(four.learner.optimizer().steps(), 4);
  }
}

// On policy gspo is grpo: its one ratio is 1, as its many are.
TEST(LearnerGrpo, GspoIsGrpoOnPolicy) {
  Fixture a, b;
  v1::GrpoBatch batch = MakeBatch(a.config, a.weights);
  batch.mutable_settings()->clear_importance();
  batch.mutable_settings()->set_loss(S::GRPO);
  Must(a.learner.Grpo(batch, Sgd(1)));
  batch.mutable_settings()->set_loss(S::GSPO);
  Must(b.learner.Grpo(batch, Sgd(1)));
  EXPECT_EQ(Flat(a.weights), Flat(b.weights));
}

TEST(LearnerGrpo, PackingDoesNotMatterToAnyLoss) {
  const ReferenceModel frozen = Frozen();
  for (const S::Loss loss : kLosses) {
    SCOPED_TRACE(S::Loss_Name(loss));
    Fixture whole;
    const v1::GrpoBatch batch = FullBatch(whole, loss);
    const UpdateResult want = Must(whole.learner.Grpo(batch, Sgd(0.1), &frozen));
    for (const int64_t budget : {1, 30}) {
      Fixture f(torch::kFloat, budget);
      const UpdateResult got = Must(f.learner.Grpo(batch, Sgd(0.1), &frozen));
      EXPECT_NEAR(got.metrics.at("loss"), want.metrics.at("loss"), 1e-6);
      EXPECT_NEAR(got.metrics.at("grad_norm"), want.metrics.at("grad_norm"),
                  1e-3 * want.metrics.at("grad_norm"));
      EXPECT_NEAR(got.metrics.at("kl"), want.metrics.at("kl"), 1e-5);
    }
  }
}

TEST(LearnerGrpo, AGroupWithoutSpreadContributesExactlyNothing) {
  const ReferenceModel frozen = Frozen();
  for (const S::Loss loss : kLosses) {
    for (const S::AdvantageScale scale :
         {S::GROUP, S::BATCH, S::NONE, S::LEAVE_ONE_OUT, S::ENTROPIC}) {
      if (loss != S::DAPO && scale != S::BATCH) continue;
      SCOPED_TRACE(testing::Message() << S::Loss_Name(loss) << " " << scale);
      Fixture with, without;
      v1::GrpoBatch batch = FullBatch(with, loss);
      batch.mutable_settings()->set_advantage_scale(scale);
      for (v1::Rollout& r : *batch.mutable_groups(1)->mutable_rollouts()) r.set_reward(0.25);
      v1::GrpoBatch alone = batch;
      alone.mutable_groups()->RemoveLast();
      // This group has one rollout.
      v1::RolloutGroup single = batch.groups(0);
      single.mutable_rollouts()->DeleteSubrange(1, 3);
      *batch.add_groups() = single;
      StepSettings settings;
      settings.adamw.lr = 1e-3;
      const UpdateResult result = Must(with.learner.Grpo(batch, settings, &frozen));
      Must(without.learner.Grpo(alone, settings, &frozen));
      EXPECT_NEAR(result.metrics.at("frac_reward_zero_std"), 2.0 / 3, 1e-12);
      EXPECT_EQ(Flat(with.weights), Flat(without.weights));
    }
  }
}

// The reward of such a rollout still counts in the group's mean, its tokens in nothing.
TEST(LearnerGrpo, MaskedTruncatedRolloutsAreNotLearnedFrom) {
  Fixture masked, other, plain;
  v1::GrpoBatch batch = MakeBatch(masked.config, masked.weights);
  batch.mutable_settings()->set_mask_truncated(true);
  v1::Rollout& cut = *batch.mutable_groups(0)->mutable_rollouts(3);
  cut.set_truncated(true);
  const UpdateResult result = Must(masked.learner.Grpo(batch, Sgd(1)));
  EXPECT_EQ(result.metrics.at("num_tokens"), 2 * (2 + 6 + 10 + 14) - 14);
  v1::GrpoBatch changed = batch;
  for (int32_t& id : *changed.mutable_groups(0)->mutable_rollouts(3)->mutable_ids()) id = 5;
  Must(other.learner.Grpo(changed, Sgd(1)));
  EXPECT_EQ(Flat(masked.weights), Flat(other.weights));
  batch.mutable_settings()->set_mask_truncated(false);
  Must(plain.learner.Grpo(batch, Sgd(1)));
  EXPECT_NE(Flat(masked.weights), Flat(plain.weights));
}

TEST(LearnerGrpo, ThePenaltyIsZeroAtTheReferenceAndPullsBackToIt) {
  for (const S::KlEstimator estimator : {S::K1, S::K2, S::K3}) {
    SCOPED_TRACE(estimator);
    Fixture free, bound, pulled;
    ReferenceModel start{free.config, reference::TinyWeights(free.config, torch::kFloat)};
    v1::GrpoBatch batch = MakeBatch(free.config, free.weights);
    Must(free.learner.Grpo(batch, Sgd(1)));
    batch.mutable_settings()->set_kl_beta(0.5);
    batch.mutable_settings()->set_kl_estimator(estimator);
    const UpdateResult first = Must(bound.learner.Grpo(batch, Sgd(1), &start));
    EXPECT_EQ(first.metrics.at("kl"), 0);
    EXPECT_EQ(Flat(bound.weights), Flat(free.weights)) << "no pull where there is no distance";
    // The policy goes away from it, and then back by the penalty alone: rewards are so small that
    // they count nothing.
    Must(pulled.learner.Grpo(batch, Sgd(0.3), &start));
    batch.mutable_settings()->set_advantage_scale(S::NONE);
    for (v1::RolloutGroup& group : *batch.mutable_groups()) {
      for (v1::Rollout& r : *group.mutable_rollouts()) r.set_reward(1e-9 * r.reward());
    }
    const auto distance = [&] {
      v1::GrpoBatch probe = batch;
      probe.mutable_settings()->set_kl_estimator(S::K2);
      return Must(pulled.learner.Grpo(probe, Sgd(0), &start)).metrics.at("kl");
    };
    const double away = distance();
    EXPECT_GT(away, 1e-4);
    for (int i = 0; i < 10; ++i) Must(pulled.learner.Grpo(batch, Sgd(0.2), &start));
    EXPECT_LT(distance(), 0.7 * away);
  }
}

TEST(LearnerGrpo, AnOutlierIsSkippedAndTheNextUpdateIsNot) {
  Fixture f;
  v1::GrpoBatch batch = MakeBatch(f.config, f.weights);
  batch.mutable_settings()->set_advantage_scale(S::NONE);
  StepSettings settings;
  settings.adamw.lr = 1e-5;
  settings.spike_factor = 4;
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(Must(f.learner.Grpo(batch, settings)).applied);
  v1::GrpoBatch wild = batch;
  for (v1::Rollout& r : *wild.mutable_groups(0)->mutable_rollouts()) {
    r.set_reward(100 * r.reward());
  }
  const std::vector<float> before = Flat(f.weights);
  const UpdateResult skipped = Must(f.learner.Grpo(wild, settings));
  EXPECT_FALSE(skipped.applied);
  EXPECT_THAT(skipped.skip_reason, HasSubstr("more than 4 times the median"));
  EXPECT_GT(skipped.metrics.at("grad_norm"), 0) << "what was skipped is shown";
  EXPECT_EQ(Flat(f.weights), before);
  EXPECT_EQ(f.learner.optimizer().steps(), 9);
  EXPECT_TRUE(Must(f.learner.Grpo(batch, settings)).applied);
  f.learner.BeginPhase();
  EXPECT_TRUE(Must(f.learner.Grpo(wild, settings)).applied) << "another phase, another scale";
}

TEST(LearnerGrpo, LayerNormsAddUpToTheWhole) {
  Fixture f;
  StepSettings settings;
  settings.grad_norm_per_layer = true;
  const UpdateResult result = Must(f.learner.Grpo(MakeBatch(f.config, f.weights), settings));
  double squares = 0;
  int layers = 0;
  for (const auto& [name, value] : result.metrics) {
    if (name.rfind("grad_norm/", 0) != 0) continue;
    squares += value * value;
    ++layers;
  }
  EXPECT_EQ(layers, 2 + 2) << "two layers, embed, final_norm";
  EXPECT_GT(result.metrics.at("grad_norm/layers.1"), 0);
  EXPECT_NEAR(std::sqrt(squares), result.metrics.at("grad_norm"), 1e-9);
}

}  // namespace
}  // namespace whetstone
