// These tests hold the update over several ranks, as threads of one process, to the same update by
// one.
#include <c10/core/CPUAllocator.h>
#include <c10/util/Backtrace.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "gpu_trainer/distributed/ranks_testing.h"
#include "gpu_trainer/train/learner/learner_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

constexpr int kSteps = 3;

// A Step is one update; every rank makes the same calls.
using Step = std::function<absl::StatusOr<UpdateResult>(Learner& learner, int step)>;

struct Trained {
  std::vector<UpdateResult> results;
  std::vector<double> weights;  // At the end.
};

std::vector<double> FlatFp64(const Weights& weights) {
  std::vector<double> all;
  for (const auto& [name, tensor] : weights.Named()) {
    const torch::Tensor t = tensor.to(torch::kDouble).contiguous();
    all.insert(all.end(), t.data_ptr<double>(), t.data_ptr<double>() + t.numel());
  }
  return all;
}

double DistanceFp64(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

bool IsOfThisRank(const std::string& metric) {
  return metric == "perf/tokens_per_s" || metric == "perf/communication_s" ||
         metric == "perf/communication_hidden" || metric == "perf/rank_wait_s";
}

LearnerOptions Among(RankGroup& group, LearnerOptions options) {
  options.ranks = &group;
  return options;
}

// Trains the tiny model over so many ranks. Their results and weights must be equal to the last
// bit.
Trained Train(int ranks, LearnerOptions options, const Step& step,
              torch::ScalarType dtype = torch::kFloat,
              const ModelConfig& config = reference::TinyConfig()) {
  std::vector<Trained> by_rank(static_cast<size_t>(ranks));
  const auto train = [&](RankGroup& group) {
    Weights weights = reference::TinyWeights(config, dtype);
    Learner learner(config, weights, Among(group, options));
    Trained& mine = by_rank[static_cast<size_t>(group.rank())];
    for (int s = 0; s < kSteps; ++s) mine.results.push_back(Must(step(learner, s)));
    mine.weights = FlatFp64(weights);
  };
  if (ranks == 1) {
    RankGroup alone;
    train(alone);
  } else {
    RunAsRanks(ranks, train);
  }
  for (int r = 1; r < ranks; ++r) {
    EXPECT_EQ(by_rank[r].weights, by_rank[0].weights) << "rank " << r;
    for (int s = 0; s < kSteps; ++s) {
      const UpdateResult& first = by_rank[0].results[s];
      const UpdateResult& other = by_rank[r].results[s];
      EXPECT_EQ(other.applied, first.applied);
      EXPECT_EQ(other.skip_reason, first.skip_reason);
      for (const auto& [name, value] : first.metrics) {
        if (IsOfThisRank(name)) continue;
        EXPECT_EQ(other.metrics.at(name), value) << name;
      }
    }
  }
  return by_rank[0];
}

// `error` is a share of the 2-norm of the weights' change.
void ExpectTheSameOver124Ranks(const LearnerOptions& options, const Step& step,
                               torch::ScalarType dtype = torch::kFloat, double error = 1e-3,
                               const ModelConfig& config = reference::TinyConfig()) {
  const std::vector<double> before = FlatFp64(reference::TinyWeights(config, dtype));
  const Trained one = Train(1, options, step, dtype, config);
  const double change = DistanceFp64(one.weights, before);
  EXPECT_GT(change, 0);
  for (const int ranks : {2, 4}) {
    SCOPED_TRACE(absl::StrCat(ranks, " ranks"));
    const Trained several = Train(ranks, options, step, dtype, config);
    for (int s = 0; s < kSteps; ++s) {
      SCOPED_TRACE(absl::StrCat("step ", s));
      const auto& want = one.results[s].metrics;
      const auto& got = several.results[s].metrics;
      EXPECT_NEAR(got.at("loss"), want.at("loss"), 1e-6);
      EXPECT_NEAR(got.at("grad_norm"), want.at("grad_norm"), 1e-3 * want.at("grad_norm"));
      for (const auto& [name, value] : want) {
        // How much is encoded twice depends on where groups are cut.
        if (IsOfThisRank(name) || name == "perf/packed_tokens") continue;
        ASSERT_EQ(got.count(name), 1u) << name;
        EXPECT_NEAR(got.at(name), value, 1e-5 + 1e-3 * std::abs(value)) << name;
      }
      EXPECT_GT(got.at("perf/communication_mib"), 0);
      EXPECT_GT(got.at("perf/communication_s"), 0);
      EXPECT_GE(got.at("perf/communication_hidden"), 0);
      EXPECT_LE(got.at("perf/communication_hidden"), 1);
    }
    EXPECT_LT(DistanceFp64(several.weights, one.weights), error * change);
  }
}

StepSettings Settings() {
  StepSettings settings;
  settings.adamw = {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-6, .weight_decay = 0.01};
  settings.max_grad_norm = 1;
  settings.grad_norm_per_layer = true;
  return settings;
}

// The batch is off policy from the start: every bound has something to do.
v1::GrpoBatch Batch(const ModelConfig& config = reference::TinyConfig()) {
  return MakeBatch(config, reference::TinyWeights(config, torch::kFloat), /*noise=*/0.3);
}

TEST(LearnerRanks, EveryLossIsTheSameOver124Ranks) {
  const v1::GrpoBatch batch = Batch();
  for (const auto loss : {v1::GrpoSettings::GRPO, v1::GrpoSettings::DR_GRPO, v1::GrpoSettings::DAPO,
                          v1::GrpoSettings::GSPO, v1::GrpoSettings::CISPO}) {
    SCOPED_TRACE(v1::GrpoSettings::Loss_Name(loss));
    v1::GrpoBatch own = batch;
    own.mutable_settings()->set_loss(loss);
    ExpectTheSameOver124Ranks({.token_budget = 24},
                              [&](Learner& learner, int) { return learner.Grpo(own, Settings()); });
  }
}

// Adam amplifies rounding where gradients vanish; in fp64 there is none to speak of.
TEST(LearnerRanks, InFp64TheChangeIsTheSameOver124RanksTo1e9) {
  const v1::GrpoBatch batch = Batch();
  ExpectTheSameOver124Ranks(
      {.token_budget = 24}, [&](Learner& learner, int) { return learner.Grpo(batch, Settings()); },
      torch::kDouble, 1e-9);
}

TEST(LearnerRanks, MinibatchesReferenceAndSequenceTermsAreTheSameOver124Ranks) {
  v1::GrpoBatch batch = Batch();
  v1::GrpoSettings& s = *batch.mutable_settings();
  s.set_loss(v1::GrpoSettings::GSPO);
  s.set_minibatches(4);  // Each has two sequences: fewer than four ranks.
  s.set_kl_beta(0.1);
  s.set_kl_reference("given");
  s.set_entropy_bonus(0.01);
  s.set_importance(v1::GrpoSettings::SEQUENCE_TRUNCATE);
  const ModelConfig config = reference::TinyConfig();
  const ReferenceModel frozen{config, reference::TinyWeights(config, torch::kFloat, /*seed=*/9)};
  ExpectTheSameOver124Ranks({.token_budget = 1 << 20}, [&](Learner& learner, int) {
    return learner.Grpo(batch, Settings(), &frozen);
  });
}

TEST(LearnerRanks, ImitatedRolloutsAreTheSameOver124Ranks) {
  v1::GrpoBatch batch = Batch();
  Imitate(&batch, 0.6);
  batch.mutable_settings()->set_minibatches(2);
  ExpectTheSameOver124Ranks({.token_budget = 24},
                            [&](Learner& learner, int) { return learner.Grpo(batch, Settings()); });
}

TEST(LearnerRanks, AdaptersLearnTheSameOver124Ranks) {
  const v1::GrpoBatch batch = Batch();
  ExpectTheSameOver124Ranks(
      {.token_budget = 24, .lora = {.rank = 4, .alpha = 8, .targets = {"q_proj", "down_proj"}}},
      [&](Learner& learner, int) { return learner.Grpo(batch, Settings()); });
}

// The ranks have every kind of state, and a step that all skip in between.
TEST(LearnerRanks, SharingTheOptimizersStateOutChangesNoBit) {
  const v1::GrpoBatch batch = Batch();
  // The rewards give a loss that is finite in double, but no gradient that is in float.
  v1::GrpoBatch huge = batch;
  for (v1::RolloutGroup& group : *huge.mutable_groups()) {
    for (v1::Rollout& rollout : *group.mutable_rollouts()) {
      rollout.set_reward(1e300 * rollout.reward());
    }
  }
  huge.mutable_settings()->set_advantage_scale(v1::GrpoSettings::NONE);
  const Step step = [&](Learner& learner, int s) {
    return learner.Grpo(s == 1 ? huge : batch, Settings());
  };
  const LoraSettings lora{.rank = 4, .alpha = 8, .targets = {"q_proj", "gate_proj"}};
  const std::pair<LearnerOptions, torch::ScalarType> kinds[] = {
      {{.token_budget = 24}, torch::kFloat},
      {{.token_budget = 24}, torch::kBFloat16},
      {{.token_budget = 24, .optimizer_state = MomentType::kBf16}, torch::kBFloat16},
      {{.token_budget = 24, .optimizer_state = MomentType::kEightBit}, torch::kBFloat16},
      {{.token_budget = 24, .optimizer_state = MomentType::kEightBit, .lora = lora},
       torch::kFloat}};
  for (const auto& [options, dtype] : kinds) {
    LearnerOptions sharded = options;
    sharded.sharding = Sharding::kOptimizer;
    for (const int ranks : {1, 2, 4}) {
      SCOPED_TRACE(absl::StrCat(NameOf(options.optimizer_state), " over ", ranks, " ranks"));
      const Trained all = Train(ranks, options, step, dtype);
      const Trained shares = Train(ranks, sharded, step, dtype);
      EXPECT_NE(all.weights, FlatFp64(reference::TinyWeights(reference::TinyConfig(), dtype)));
      EXPECT_EQ(shares.weights, all.weights);
      for (int s = 0; s < kSteps; ++s) {
        EXPECT_EQ(shares.results[s].applied, s != 1);
        EXPECT_EQ(shares.results[s].skip_reason, all.results[s].skip_reason);
        for (const auto& [name, want] : all.results[s].metrics) {
          if (IsOfThisRank(name) || name == "perf/communication_mib" || s == 1) continue;
          // Norms are summed in another order.
          EXPECT_NEAR(shares.results[s].metrics.at(name), want, 1e-12 * std::abs(want)) << name;
        }
      }
    }
  }
}

// The sums are in another order, so they round otherwise; in fp64 that is nothing to speak of.
TEST(LearnerRanks, SharingGradientsAndWeightsOutChangesNothingButRounding) {
  for (const Sharding sharding : {Sharding::kGradients, Sharding::kParameters}) {
    SCOPED_TRACE(NameOf(sharding));
    LearnerOptions options{.token_budget = 24, .sharding = sharding};
    for (const bool tied : {true, false}) {
      ModelConfig config = reference::TinyConfig(ModelFamily::kLlama, tied);
      config.layers = 7;  // They take turns.
      const v1::GrpoBatch batch = Batch(config);
      const Step step = [&](Learner& learner, int) { return learner.Grpo(batch, Settings()); };
      ExpectTheSameOver124Ranks(options, step, torch::kDouble, 1e-9, config);
      ExpectTheSameOver124Ranks(options, step, torch::kFloat, 1e-3, config);
      options.activation_checkpointing = ActivationCheckpointing::kOn;
    }
  }
  const v1::GrpoBatch batch = Batch();
  ExpectTheSameOver124Ranks({.token_budget = 24,
                             .lora = {.rank = 4, .alpha = 8, .targets = {"q_proj", "down_proj"}},
                             .sharding = Sharding::kGradients},
                            [&](Learner& learner, int) { return learner.Grpo(batch, Settings()); });
}

// The exchange of weights has no part in what is computed, whatever the type and the kind of state.
TEST(LearnerRanks, SharingTheWeightsOutChangesNoBitBesidesSharingTheGradients) {
  v1::GrpoBatch batch = Batch();
  batch.mutable_settings()->set_minibatches(2);  // The policy's log-probabilities come before.
  const Step step = [&](Learner& learner, int) { return learner.Grpo(batch, Settings()); };
  for (const auto& [dtype, moments] :
       {std::pair{torch::kFloat, MomentType::kFp32}, std::pair{torch::kHalf, MomentType::kFp32},
        std::pair{torch::kBFloat16, MomentType::kBf16},
        std::pair{torch::kBFloat16, MomentType::kEightBit}}) {
    SCOPED_TRACE(absl::StrCat(c10::toString(dtype), " ", NameOf(moments)));
    LearnerOptions options{
        .token_budget = 24, .optimizer_state = moments, .sharding = Sharding::kGradients};
    for (const int ranks : {2, 3}) {
      options.sharding = Sharding::kGradients;
      const Trained gradients = Train(ranks, options, step, dtype);
      options.sharding = Sharding::kParameters;
      const Trained weights = Train(ranks, options, step, dtype);
      EXPECT_EQ(weights.weights, gradients.weights);
      EXPECT_NE(weights.weights, FlatFp64(reference::TinyWeights(reference::TinyConfig(), dtype)));
    }
  }
}

TEST(LearnerRanks, WorkedExamplesAreTheSameOver124Ranks) {
  Philox rng(3, {});
  std::vector<LearnedSequence> examples;
  for (int i = 0; i < 5; ++i) {
    LearnedSequence example{.ids = {}, .learn_from = 3};
    for (int t = 0; t < 6 + 3 * i; ++t) example.ids.push_back(static_cast<int32_t>(rng.Below(97)));
    examples.push_back(std::move(example));
  }
  // The last step has one example: there is nothing to do for the other ranks.
  for (const Sharding sharding : {Sharding::kNone, Sharding::kGradients, Sharding::kParameters}) {
    ExpectTheSameOver124Ranks({.sharding = sharding}, [&](Learner& learner, int step) {
      return learner.Supervised(
          step < 2 ? examples
                   : std::vector<LearnedSequence>(examples.begin(), examples.begin() + 1),
          Settings());
    });
  }
}

TEST(LearnerRanks, AllRanksSkipWhatOneFindsNotFinite) {
  const v1::GrpoBatch batch = Batch();
  // Only the completions of one micro-batch hold this token.
  const int32_t id = batch.groups(0).rollouts(0).ids(0);
  for (const Sharding sharding : {Sharding::kNone, Sharding::kParameters}) {
    RunAsRanks(2, [&](RankGroup& group) {
      const ModelConfig config = reference::TinyConfig();
      Weights weights = reference::TinyWeights(config, torch::kFloat);
      weights.embed[id].fill_(std::nanf(""));
      const std::vector<float> before = Flat(weights);
      Learner learner(config, weights, {.token_budget = 24, .ranks = &group, .sharding = sharding});
      const UpdateResult result = Must(learner.Grpo(batch, Settings()));
      EXPECT_FALSE(result.applied);
      EXPECT_THAT(result.skip_reason, HasSubstr("the loss is nan"));
      EXPECT_THAT(result.skip_reason, HasSubstr("the weight embed is not finite"));
      EXPECT_THAT(result.skip_reason, HasSubstr("first at token"));
      const std::vector<float> after = Flat(weights);
      EXPECT_EQ(0, std::memcmp(after.data(), before.data(), sizeof(float) * before.size()));
    });
  }
}

// The allocator is LibTorch's, but for one allocation of a thread.
class TrappedAllocator final : public at::Allocator {
 public:
  // The allocator is never destroyed: tensors may outlive every static object.
  static TrappedAllocator& Installed() {
    static TrappedAllocator* const allocator = [] {
      auto* const made = new TrappedAllocator();
      c10::SetCPUAllocator(made, /*priority=*/255);
      return made;
    }();
    return *allocator;
  }

  // Calls `trap` in place of this thread's `nth` allocation from now on, or of the next that no
  // collective makes: one that can not start breaks the group (learner.h).
  static void SetTrap(int64_t nth, std::function<void()> trap) {
    left_ = nth;
    trap_ = std::move(trap);
  }
  static int64_t left() { return left_; }

  at::DataPtr allocate(size_t bytes) override {
    if (--left_ == 0) {
      if (absl::StrContains(c10::get_backtrace(), "c10d::")) {
        left_ = 1;
      } else {
        trap_();
      }
    }
    return plain_->allocate(bytes);
  }
  at::DeleterFnPtr raw_deleter() const override { return plain_->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

 private:
  at::Allocator* const plain_ = c10::GetDefaultCPUAllocator();
  static thread_local int64_t left_;
  static thread_local std::function<void()> trap_;
};
thread_local int64_t TrappedAllocator::left_ = 0;
thread_local std::function<void()> TrappedAllocator::trap_;

// Rank 1's `nth` allocation from now on, in `update`, fails; the other rank is told at what.
void ExpectRank1OutOfMemory(const RankGroup& group, int64_t nth, const std::string& what,
                            const std::function<absl::Status()>& update) {
  if (group.rank() == 1) {
    TrappedAllocator::SetTrap(nth, [] { TORCH_CHECK_WITH(OutOfMemoryError, false, "no memory"); });
    EXPECT_THROW(update().IgnoreError(), c10::OutOfMemoryError);
    return;
  }
  const absl::Status status = update();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr(what + ": rank 1 failed: no memory"));
}

TEST(LearnerRanks, ARankThatFailsWhereverInAnUpdateIsToldToAllAndTheNextUpdateIsRight) {
  TrappedAllocator::Installed();
  const v1::GrpoBatch batch = Batch();
  const auto update = [&](Learner& learner, int) { return learner.Grpo(batch, Settings()); };
  constexpr int64_t kMany = 1 << 30;
  for (const Sharding sharding : {Sharding::kNone, Sharding::kGradients, Sharding::kParameters}) {
    const LearnerOptions options = {.token_budget = 24, .sharding = sharding};
    const Trained undisturbed = Train(2, options, update);
    RunAsRanks(2, [&](RankGroup& group) {
      const ModelConfig config = reference::TinyConfig();
      Weights weights = reference::TinyWeights(config, torch::kFloat);
      Learner learner(config, weights, Among(group, options));
      TrappedAllocator::SetTrap(kMany, nullptr);
      Must(update(learner, 0));
      // More than eight tenths of them are made while the rollouts are learned.
      const int64_t allocations = kMany - TrappedAllocator::left();
      const std::vector<double> before = FlatFp64(weights);
      for (const double when : {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7}) {
        SCOPED_TRACE(when);
        ExpectRank1OutOfMemory(group, static_cast<int64_t>(when * static_cast<double>(allocations)),
                               "learning the rollouts",
                               [&] { return update(learner, 0).status(); });
        EXPECT_EQ(FlatFp64(weights), before);
      }
      for (int s = 1; s < kSteps; ++s) Must(update(learner, s));
      EXPECT_EQ(FlatFp64(weights), undisturbed.weights);
    });
  }
}

TEST(LearnerRanks, ARankWithoutMemoryToShardTheWeightsIsToldToAllAndTheNextUpdateIsRight) {
  TrappedAllocator::Installed();
  const v1::GrpoBatch batch = Batch();
  const LearnerOptions options = {.token_budget = 24, .sharding = Sharding::kParameters};
  const auto update = [&](Learner& learner, int) { return learner.Grpo(batch, Settings()); };
  const Trained undisturbed = Train(2, options, update);
  RunAsRanks(2, [&](RankGroup& group) {
    const ModelConfig config = reference::TinyConfig();
    Weights weights = reference::TinyWeights(config, torch::kFloat);
    Learner learner(config, weights, Among(group, options));
    const std::vector<double> before = FlatFp64(weights);
    for (const int64_t nth : {1, 2, 3, 4}) {
      SCOPED_TRACE(nth);
      ExpectRank1OutOfMemory(group, nth, "sharding the weights",
                             [&] { return update(learner, 0).status(); });
      EXPECT_EQ(FlatFp64(weights), before);
    }
    for (int s = 0; s < kSteps; ++s) Must(update(learner, s));
    EXPECT_EQ(FlatFp64(weights), undisturbed.weights);
  });
}

TEST(LearnerRanks, ARankThatHangsInABackwardPassIsNamedWithinTheDeadline) {
  TrappedAllocator::Installed();
  const v1::GrpoBatch batch = Batch();
  RankOptions quick = QuickRanks();
  quick.work_deadline = std::chrono::seconds(1);
  std::atomic<bool> told = false;
  constexpr int64_t kMany = 1 << 30;
  RunAsRanks(
      2,
      [&](RankGroup& group) {
        const ModelConfig config = reference::TinyConfig();
        Weights weights = reference::TinyWeights(config, torch::kFloat);
        Learner learner(config, weights, {.token_budget = 24, .ranks = &group});
        TrappedAllocator::SetTrap(kMany, nullptr);
        Must(learner.Grpo(batch, Settings()));
        const std::vector<double> before = FlatFp64(weights);
        if (group.rank() == 1) {
          const int64_t most = (kMany - TrappedAllocator::left()) * 7 / 10;
          TrappedAllocator::SetTrap(most, [&] {
            EXPECT_TRUE(Eventually([&] { return told.load(); }));
            throw Vanish();
          });
        }
        const absl::Status status = learner.Grpo(batch, Settings()).status();
        EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
        EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 has not come"));
        EXPECT_EQ(FlatFp64(weights), before);
        told = true;
      },
      quick);
  EXPECT_TRUE(told);
}

TEST(LearnerRanks, ALostRankEndsTheUpdateAndChangesNothing) {
  const v1::GrpoBatch batch = Batch();
  RunAsRanks(3, [&](RankGroup& group) {
    const ModelConfig config = reference::TinyConfig();
    Weights weights = reference::TinyWeights(config, torch::kFloat);
    Learner learner(config, weights, {.token_budget = 24, .ranks = &group});
    ASSERT_TRUE(learner.Grpo(batch, Settings()).ok());
    if (group.rank() == 1) throw Vanish();
    const std::vector<float> before = Flat(weights);
    const absl::Status status = learner.Grpo(batch, Settings()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 is gone"));
    EXPECT_EQ(Flat(weights), before);
  });
}

}  // namespace
}  // namespace whetstone
