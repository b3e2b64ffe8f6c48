#include "gpu_trainer/train/loss/loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

#include "common/philox.h"
#include "gpu_trainer/train/loss/advantage.h"
#include "gpu_trainer/train/loss/loss_reference.h"

namespace whetstone {
namespace {

constexpr LossKind kKinds[] = {LossKind::kGrpo, LossKind::kDrGrpo, LossKind::kDapo, LossKind::kGspo,
                               LossKind::kCispo};

// Coverage counts what the tokens of a comparison went through, so that none of it is compared by
// accident only.
struct Coverage {
  int low = 0, high = 0, dual = 0, masked = 0, bounded = 0;
};

// Compares a dozen sequences with ratios and weights far outside their bounds on both sides.
void CompareWithReference(const LossSettings& settings, Coverage* coverage) {
  Philox rng(7, {1, 2, 3, 4});
  std::vector<reference::Sequence> sequences;
  StepCounts counts;
  for (int64_t s = 0; s < 12; ++s) {
    const int64_t n = 1 + s * 2;
    // The numbers are floats, as the learner has them; a sequence has one shift, so that means and
    // sums spread too.
    const auto draw = [&](double around) {
      torch::Tensor column = torch::empty({n}, torch::kFloat);
      const double shift = 0.3 * rng.Normal();
      for (int64_t i = 0; i < n; ++i) {
        column.data_ptr<float>()[i] = static_cast<float>(around + shift + 0.4 * rng.Normal());
      }
      return column.to(torch::kDouble);
    };
    sequences.push_back({.policy = draw(-2).set_requires_grad(true),
                         .old = draw(-2),
                         .sampling = draw(-2),
                         .reference = draw(-2),
                         .advantage = s == 5 ? 0 : rng.Normal()});
    if (settings.imitation_weight > 0 && s % 3 == 0) {
      sequences.back().imitated = true;
      sequences.back().advantage = std::abs(sequences.back().advantage);
    }
    ++counts.sequences;
    counts.tokens += n;
  }
  const torch::Tensor want = reference::StepLoss(settings, sequences);
  want.backward();

  double loss = 0;
  for (const reference::Sequence& q : sequences) {
    const auto floats = [](const torch::Tensor& column) {
      const torch::Tensor f = column.detach().to(torch::kFloat).contiguous();
      return std::vector<float>(f.data_ptr<float>(), f.data_ptr<float>() + f.numel());
    };
    const std::vector<float> policy = floats(q.policy), old = floats(q.old),
                             sampling = floats(q.sampling), frozen = floats(q.reference);
    SequenceTerms terms;
    if (NeedsSequence(settings, /*on_policy=*/false)) {
      terms = ComputeSequenceTerms(settings, policy, old, sampling);
    }
    const double weight = TokenWeight(settings, counts, static_cast<int64_t>(policy.size()));
    for (size_t i = 0; i < policy.size(); ++i) {
      const TokenLoss t = PolicyTokenLoss(settings,
                                          {.policy = policy[i],
                                           .old = old[i],
                                           .sampling = sampling[i],
                                           .reference = frozen[i],
                                           .advantage = q.advantage,
                                           .imitated = q.imitated},
                                          terms);
      loss += weight * t.value;
      const double gradient = q.policy.grad()[static_cast<int64_t>(i)].item<double>();
      ASSERT_NEAR(weight * t.gradient, gradient, 1e-12 * std::max(1.0, std::abs(gradient)));
      coverage->low += t.clipped_low;
      coverage->high += t.clipped_high;
      coverage->dual += t.clipped_dual;
      coverage->masked += t.importance == 0;
      coverage->bounded += t.importance == settings.importance.clip_max ||
                           t.importance == settings.importance.clip_min;
    }
  }
  // A product over a sequence can be in the hundreds.
  ASSERT_NEAR(loss, want.item<double>(), 1e-12 * std::max(1.0, std::abs(loss)));
}

TEST(PolicyTokenLoss, EveryLossAndItsGradientEqualTheFp64Reference) {
  for (const LossKind kind : kKinds) {
    SCOPED_TRACE(static_cast<int>(kind));
    LossSettings settings{.kind = kind, .max_new_tokens = 20};
    Coverage coverage;
    CompareWithReference(settings, &coverage);
    EXPECT_GT(coverage.low, 5);
    EXPECT_GT(coverage.high, 5);
    if (kind == LossKind::kCispo) continue;
    settings.dual_clip = 1.3;
    CompareWithReference(settings, &coverage);
    EXPECT_GT(coverage.dual, 5);
  }
}

TEST(PolicyTokenLoss, EveryImportanceCorrectionEqualsTheFp64Reference) {
  for (const LossKind kind : {LossKind::kDapo, LossKind::kGspo, LossKind::kCispo}) {
    for (const ImportanceLevel level :
         {ImportanceLevel::kToken, ImportanceLevel::kSequence, ImportanceLevel::kGeometric}) {
      for (const bool mask : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << static_cast<int>(kind) << " " << static_cast<int>(level) << " " << mask);
        Coverage coverage;
        LossSettings settings{
            .kind = kind,
            .importance = {.level = level, .mask = mask, .clip_min = 0.8, .clip_max = 1.25}};
        CompareWithReference(settings, &coverage);
        // gspo's token weights appear as their mean, which no single bound shows in.
        const bool mean = kind == LossKind::kGspo && level == ImportanceLevel::kToken;
        EXPECT_EQ(coverage.masked > 3, mask && !mean);
        EXPECT_EQ(coverage.bounded > 3, !mask && !mean);
        settings.importance.clip_max = 0;  // No bound is above.
        CompareWithReference(settings, &coverage);
      }
    }
  }
}

TEST(PolicyTokenLoss, EveryKlEstimatorEqualsTheFp64Reference) {
  for (const LossKind kind : kKinds) {
    for (const KlEstimator estimator : {KlEstimator::kK1, KlEstimator::kK2, KlEstimator::kK3}) {
      SCOPED_TRACE(testing::Message()
                   << static_cast<int>(kind) << " k" << 1 + static_cast<int>(estimator));
      Coverage coverage;
      CompareWithReference(
          {.kind = kind,
           .importance = {.level = ImportanceLevel::kToken, .mask = true, .clip_max = 1.2},
           .kl_beta = 0.3,
           .kl_estimator = estimator,
           .max_new_tokens = 20},
          &coverage);
    }
  }
}

TEST(PolicyTokenLoss, ImitatedTokensEqualTheFp64ReferenceBesideEveryLoss) {
  for (const LossKind kind : kKinds) {
    SCOPED_TRACE(static_cast<int>(kind));
    Coverage coverage;
    CompareWithReference({.kind = kind,
                          .importance = {.level = ImportanceLevel::kSequence, .clip_max = 2},
                          .kl_beta = 0.3,
                          .max_new_tokens = 20,
                          .imitation_weight = 0.7},
                         &coverage);
  }
}

// A program whose decisive token has become a thousand times less likely than it was: the clipped
// ratio and a truncated weight both leave next to nothing of it, which imitation does not.
TEST(PolicyTokenLoss, ImitationTeachesWhatThePolicyHasNearlyLost) {
  const LossSettings settings{.importance = {.level = ImportanceLevel::kToken, .clip_max = 2},
                              .imitation_weight = 1};
  PolicyToken lost{.policy = -8, .old = -8, .sampling = -1.1, .advantage = 2};
  EXPECT_GT(PolicyTokenLoss(settings, lost, {}).gradient, -0.01);
  lost.imitated = true;
  EXPECT_DOUBLE_EQ(PolicyTokenLoss(settings, lost, {}).gradient, -2);
}

// The estimators are what kl.h says, over tokens that a policy of four really samples.
TEST(TokenKl, ValuesAndGradientsAreThoseOfTheKlInExpectation) {
  const torch::Tensor logits =
      torch::tensor({0.3, -0.5, 1.0, 0.0}, torch::kDouble).set_requires_grad(true);
  const torch::Tensor frozen = torch::log_softmax(torch::tensor({0.0, 0.4, 0.2, -0.3}), 0);
  const torch::Tensor log_p = torch::log_softmax(logits, 0);
  const torch::Tensor p = log_p.exp().detach();
  const torch::Tensor kl = (log_p.exp() * (log_p - frozen)).sum();
  const torch::Tensor want = torch::autograd::grad({kl}, {logits}, {}, /*retain_graph=*/true)[0];
  for (const KlEstimator estimator : {KlEstimator::kK1, KlEstimator::kK2, KlEstimator::kK3}) {
    double value = 0;
    torch::Tensor surrogate = torch::zeros({}, torch::kDouble);
    for (int64_t i = 0; i < 4; ++i) {
      const KlPenalty k = TokenKl(estimator, log_p[i].item<double>(), frozen[i].item<double>());
      value += p[i].item<double>() * k.value;
      surrogate = surrogate + p[i] * k.gradient * log_p[i];
    }
    const torch::Tensor got = torch::autograd::grad({surrogate}, {logits}, {}, true)[0];
    const double off = (got - want).norm().item<double>() / want.norm().item<double>();
    if (estimator == KlEstimator::kK3) {
      EXPECT_NEAR(value, kl.item<double>(), 1e-7);
      EXPECT_GT(off, 0.05) << "a biased gradient, documented so";
    } else {
      EXPECT_LT(off, 1e-6);
      EXPECT_EQ(std::abs(value - kl.item<double>()) < 1e-7, estimator == KlEstimator::kK1);
    }
  }
}

// With max_staleness, an earlier policy of the campaign samples and the present one learns:
// weighted, its tokens give in expectation the gradient that the present policy's own would.
TEST(PolicyTokenLoss, TokensOfAnOlderPolicyGiveThePresentOnesGradient) {
  const torch::Tensor logits =
      torch::tensor({0.3, -0.5, 1.0, 0.0}, torch::kDouble).set_requires_grad(true);
  const torch::Tensor log_p = torch::log_softmax(logits, 0);
  const torch::Tensor log_older = torch::log_softmax(torch::tensor({0.0, 0.1, 0.7, 0.2}), 0);
  const torch::Tensor advantages = torch::tensor({1.0, -0.5, 0.3, -1.0}, torch::kDouble);
  const torch::Tensor want =
      torch::autograd::grad({-(log_p.exp() * advantages).sum()}, {logits}, {}, true)[0];
  const auto off = [&](LossKind kind, const ImportanceSettings& importance) {
    const LossSettings settings{.kind = kind, .importance = importance};
    torch::Tensor surrogate = torch::zeros({}, torch::kDouble);
    for (int64_t i = 0; i < 4; ++i) {
      const float p = log_p[i].item<float>(), older = log_older[i].item<float>();
      const PolicyToken token{
          .policy = p, .old = p, .sampling = older, .advantage = advantages[i].item<double>()};
      const TokenLoss loss = PolicyTokenLoss(
          settings, token, ComputeSequenceTerms(settings, {&p, 1}, {&p, 1}, {&older, 1}));
      surrogate = surrogate + std::exp(older) * loss.gradient * log_p[i];
    }
    const torch::Tensor got = torch::autograd::grad({surrogate}, {logits}, {}, true)[0];
    return (got - want).norm().item<double>() / want.norm().item<double>();
  };
  for (const LossKind kind : kKinds) {
    EXPECT_LT(off(kind, {.level = ImportanceLevel::kToken, .clip_max = 2}), 1e-6);
    EXPECT_GT(off(kind, {}), 0.1) << "unweighted it is another policy's";
    EXPECT_GT(off(kind, {.level = ImportanceLevel::kToken, .clip_max = 1.05}), 1e-3)
        << "the price of a bound";
  }
}

TEST(NeedsSequence, OnlyWhereATokenCanNotBeJudgedAlone) {
  EXPECT_FALSE(NeedsSequence({.kind = LossKind::kDapo}, false));
  EXPECT_FALSE(NeedsSequence({.kind = LossKind::kGspo}, true)) << "the ratio is 1";
  EXPECT_TRUE(NeedsSequence({.kind = LossKind::kGspo}, false));
  const ImportanceSettings token{.level = ImportanceLevel::kToken, .clip_max = 2};
  EXPECT_FALSE(NeedsSequence({.kind = LossKind::kCispo, .importance = token}, false));
  EXPECT_TRUE(NeedsSequence({.kind = LossKind::kGspo, .importance = token}, true));
  const ImportanceSettings sequence{.level = ImportanceLevel::kSequence, .clip_max = 2};
  EXPECT_TRUE(NeedsSequence({.kind = LossKind::kDapo, .importance = sequence}, true));
}

TEST(BoundedImportance, ANotANumberStaysOne) {
  for (const bool mask : {false, true}) {
    const ImportanceSettings s{.level = ImportanceLevel::kToken, .mask = mask, .clip_max = 2};
    EXPECT_TRUE(std::isnan(BoundedImportance(s, std::nan("")))) << "so that the step is skipped";
    EXPECT_EQ(BoundedImportance(s, INFINITY), mask ? 0 : 2);
    EXPECT_EQ(BoundedImportance(s, -INFINITY), 0);
  }
}

std::vector<GroupAdvantage> Advantages(const std::vector<std::vector<Graded>>& groups,
                                       AdvantageScale scale) {
  return ComputeAdvantages(groups, scale);
}

TEST(ComputeAdvantages, EachScaleFollowsItsPaper) {
  const std::vector<std::vector<Graded>> groups = {{{1.0}, {2.0}, {6.0}}, {{0.0}, {0.5}}};
  const auto none = Advantages(groups, AdvantageScale::kNone);
  EXPECT_TRUE(none[0].learnable);
  EXPECT_EQ(none[0].values, (std::vector<double>{-2, -1, 3}));
  const auto group = Advantages(groups, AdvantageScale::kGroup);
  EXPECT_DOUBLE_EQ(group[0].values[2], 3 / (std::sqrt(7.0) + 1e-4));
  EXPECT_DOUBLE_EQ(group[1].values[1], 0.25 / (std::sqrt(0.125) + 1e-4));
  // 1, 2, 6, 0 and 0.5 have the mean 1.9 and the squares 23.2.
  const auto batch = Advantages(groups, AdvantageScale::kBatch);
  EXPECT_DOUBLE_EQ(batch[0].values[2], 3 / (std::sqrt(23.2 / 4) + 1e-4));
  EXPECT_DOUBLE_EQ(batch[1].values[0], -0.25 / (std::sqrt(23.2 / 4) + 1e-4));
  const auto others = Advantages(groups, AdvantageScale::kLeaveOneOut);
  EXPECT_DOUBLE_EQ(others[0].values[0], 1 - 4.0);
  EXPECT_DOUBLE_EQ(others[0].values[2], 6 - 1.5);
  EXPECT_DOUBLE_EQ(others[1].values[1], 0.5);
}

TEST(ComputeAdvantages, EntropicWeightsDivergeFromUniformByLn2) {
  const auto values = [](const std::vector<double>& rewards) {
    std::vector<Graded> group;
    for (const double reward : rewards) group.push_back({reward});
    return Advantages({group}, AdvantageScale::kEntropic)[0].values;
  };
  for (const std::vector<double>& rewards : {std::vector<double>{0.1, -0.3, 0.7, 0.7, 2.5, 0},
                                             {0, 0, 0, 1},
                                             {1e-6, 2e-6, 3e-6, 0},
                                             {-1, 1, 1.0005, 1.001}}) {
    double sum = 0, kl = 0, slope = NAN;
    const double n = static_cast<double>(rewards.size());
    const std::vector<double> got = values(rewards);
    const size_t best = std::max_element(rewards.begin(), rewards.end()) - rewards.begin();
    for (size_t i = 0; i < got.size(); ++i) {
      sum += got[i];
      const double weight = got[i] + 1;
      if (weight < 1e-12) continue;
      kl += weight / n * std::log(weight);
      // Logarithms of the weights are a straight line over the rewards.
      if (rewards[i] == rewards[best]) continue;
      const double here = std::log((got[best] + 1) / weight) / (rewards[best] - rewards[i]);
      if (!std::isnan(slope)) {
        EXPECT_NEAR(here / slope, 1, 1e-6);
      }
      slope = here;
    }
    EXPECT_NEAR(sum, 0, 1e-12);
    EXPECT_NEAR(kl, std::log(2.0), 1e-9);
    EXPECT_GT(slope, 0);
  }
  // More than half of them are the best: no slope reaches it.
  EXPECT_THAT(values({1, 0, 1, 1}),
              testing::Pointwise(testing::DoubleNear(1e-9), {1.0 / 3, -1.0, 1.0 / 3, 1.0 / 3}));
  EXPECT_THAT(values({0.5, 0.2}), testing::Pointwise(testing::DoubleNear(1e-9), {1.0, -1.0}));
}

constexpr AdvantageScale kScales[] = {AdvantageScale::kGroup, AdvantageScale::kBatch,
                                      AdvantageScale::kNone, AdvantageScale::kLeaveOneOut,
                                      AdvantageScale::kEntropic};

TEST(ComputeAdvantages, WhatIsDroppedOrWithoutSpreadCountsForNothing) {
  const std::vector<Graded> kept = {{1.0}, {3.0}};
  const std::vector<Graded> with = {
      {1.0}, {std::nan(""), /*dropped=*/true}, {3.0}, {1e9, /*dropped=*/true}};
  for (const AdvantageScale scale : kScales) {
    const auto alone = Advantages({kept}, scale);
    const auto among = Advantages({{{50.0}, {50.0}}, with, {{7.0}}}, scale);
    EXPECT_TRUE(among[1].learnable);
    EXPECT_EQ(among[1].values, (std::vector<double>{alone[0].values[0], 0, alone[0].values[1], 0}));
  }
}

TEST(ComputeAdvantages, WhatErrorsExplainIsNotLearned) {
  // The variance of 1, 2 and 6 is 7; errors explain a quarter of it.
  const double error = std::sqrt(7.0 / 4);
  const std::vector<Graded> exact = {{1.0}, {2.0}, {6.0}};
  const std::vector<Graded> measured = {{1, false, error}, {2, false, error}, {6, false, error}};
  const std::vector<Graded> within = {{0.40, false, 0.1}, {0.45, false, 0.1}, {0.5, false, 0.1}};
  for (const AdvantageScale scale : kScales) {
    if (scale == AdvantageScale::kEntropic) continue;  // Errors change its slope too, see below.
    const auto a = Advantages({exact, measured, within}, scale);
    ASSERT_TRUE(a[0].learnable && a[1].learnable);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_DOUBLE_EQ(a[1].values[i], 0.75 * a[0].values[i]);
      EXPECT_EQ(a[2].values[i], 0);
    }
    EXPECT_FALSE(a[2].learnable) << "normalised, it would be all noise";
  }
}

// The group's variance is that of its wrong programs, so shrinkage alone would not do it.
TEST(ComputeAdvantages, EntropicWeightsTakeNoNoiseForTheBest) {
  std::vector<Graded> group = {{-1.0}, {-1.0}};
  for (int i = 0; i < 14; ++i) group.push_back({0.5 + 0.02 * (i % 3 - 1), false, 0.02});
  const std::vector<double> noisy = Advantages({group}, AdvantageScale::kEntropic)[0].values;
  for (size_t i = 0; i < group.size(); ++i) {
    EXPECT_NEAR(noisy[i], i < 2 ? -1 : 16.0 / 14 - 1, i < 2 ? 0.01 : 0.35) << i;
  }
  for (Graded& rollout : group) rollout.error = 0;
  const std::vector<double> exact = Advantages({group}, AdvantageScale::kEntropic)[0].values;
  EXPECT_GT(*std::max_element(exact.begin(), exact.end()), 1.5);
}

TEST(ComputeAdvantages, NothingToLearnIsZeroAndNeverNan) {
  const std::vector<std::vector<Graded>> groups = {
      {}, {{0.7}}, {{0.1}, {0.1}, {0.1}}, {{5, /*dropped=*/true}, {6, true}}, {{0.3}, {9, true}}};
  for (const AdvantageScale scale : kScales) {
    for (const GroupAdvantage& a : Advantages(groups, scale)) {
      EXPECT_FALSE(a.learnable);
      for (const double value : a.values) EXPECT_EQ(value, 0);
    }
    EXPECT_TRUE(Advantages({}, scale).empty());
  }
}

}  // namespace
}  // namespace whetstone
