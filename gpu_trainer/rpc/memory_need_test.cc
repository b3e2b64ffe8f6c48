#include "gpu_trainer/rpc/memory_need.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu_trainer/distributed/ranks_testing.h"
#include "gpu_trainer/model/decoder_reference.h"

namespace whetstone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

int64_t BytesOf(const NamedTensors& tensors) {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

// Returns the bytes that this rank holds.
int64_t BytesOf(const std::vector<ShardedTensor>& tensors) {
  int64_t bytes = 0;
  for (const ShardedTensor& tensor : tensors) bytes += static_cast<int64_t>(tensor.mine.nbytes());
  return bytes;
}

// The model has about 1.5 billion parameters, as Qwen2.5 has.
ModelConfig LargeConfig() {
  ModelConfig config;
  config.layers = 28;
  config.hidden = 1536;
  config.heads = 12;
  config.kv_heads = 2;
  config.head_dim = 128;
  config.intermediate = 8960;
  config.vocab = 151'936;
  config.context = 32'768;
  config.tied = true;
  return config;
}

constexpr int64_t kGib = int64_t{1} << 30;

std::string Advice(const LearnerOptions& options, torch::Device device, double gib) {
  const absl::Status status = CheckMemory(LargeConfig(), torch::kBFloat16, options, device,
                                          static_cast<int64_t>(gib * static_cast<double>(kGib)));
  EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
  return std::string(status.message());
}

TEST(MemoryNeed, IsWhatWeightsAndLearnerTake) {
  ModelConfig config = reference::TinyConfig();
  // With so many tokens the rest of a block of 8-bit moments is nothing.
  config.vocab = 4096;
  for (const torch::ScalarType dtype : {torch::kFloat, torch::kBFloat16, torch::kHalf}) {
    for (const MomentType moments : {MomentType::kFp32, MomentType::kBf16, MomentType::kEightBit}) {
      for (const int64_t rank : {0, 4}) {
        SCOPED_TRACE(std::string(c10::toString(dtype)) + " " + NameOf(moments) + " rank " +
                     std::to_string(rank));
        LearnerOptions options{.optimizer_state = moments};
        if (rank > 0) options.lora = {.rank = rank, .alpha = 8, .targets = {"q_proj", "down_proj"}};
        Weights weights = reference::TinyWeights(config, dtype);
        const Learner learner(config, weights, options);
        const MemoryNeed need = NeedOf(config, dtype, options);
        EXPECT_EQ(need.weights, BytesOf(weights.Named()));
        const double state = static_cast<double>(BytesOf(learner.State()));
        EXPECT_NEAR(static_cast<double>(need.learning() - need.gradients), state, 0.03 * state);
        EXPECT_EQ(need.gradients,
                  4 * (rank > 0 ? NumbersOf(config, options.lora).adapters : config.parameters()));
        if (rank > 0) {
          EXPECT_EQ(need.gradients, BytesOf(learner.lora()->gradients()));
        }
      }
    }
  }
}

TEST(MemoryNeed, RanksMayShardTheOptimizersState) {
  ModelConfig config = reference::TinyConfig();
  config.vocab = 4096;
  RunAsRanks(2, [&](RankGroup& group) {
    LearnerOptions options{.ranks = &group};
    const MemoryNeed whole = NeedOf(config, torch::kBFloat16, options);
    options.sharding = Sharding::kOptimizer;
    const MemoryNeed share = NeedOf(config, torch::kBFloat16, options);
    EXPECT_EQ(2 * share.optimizer, whole.optimizer);
    Weights weights = reference::TinyWeights(config, torch::kBFloat16);
    const Learner learner(config, weights, options);
    const double state = static_cast<double>(BytesOf(learner.State()));
    EXPECT_NEAR(static_cast<double>(share.optimizer), state, 0.1 * state);
    EXPECT_THAT(
        Advice({.ranks = &group}, torch::Device(torch::kCUDA, 0), 20),
        AllOf(HasSubstr("train.sharding: optimizer ("), HasSubstr("train.sharding: gradients (")));
    options.sharding = Sharding::kGradients;
    const MemoryNeed less = NeedOf(config, torch::kBFloat16, options);
    EXPECT_EQ(less.optimizer, share.optimizer);
    // A rank has half of them, the embedding, and three of the layers.
    const ModelConfig large = LargeConfig();
    const int64_t learned = large.parameters();
    const int64_t ends = large.hidden + large.vocab * large.hidden;
    EXPECT_EQ(NeedOf(large, torch::kBFloat16, options).gradients,
              4 * (learned / 2 + ends + 3 * ((learned - ends) / large.layers)));
    options.sharding = Sharding::kParameters;
    const MemoryNeed least = NeedOf(large, torch::kBFloat16, options);
    const int64_t layers = learned - ends;
    EXPECT_EQ(least.weights_in_update, 2 * (layers / 2 + ends + 3 * (layers / large.layers)));
    EXPECT_EQ(least.weights, 2 * learned) << "to generate with";
    EXPECT_EQ(least.total(),
              least.learning() + std::max(least.weights + least.resharding,
                                          least.weights_in_update + least.activations));
    EXPECT_THAT(Advice(options, torch::Device(torch::kCUDA, 0), 12),
                HasSubstr("train.lora: {rank: 16} and train.sharding: gradients ("));
  });
}

TEST(MemoryNeed, ActivationsFollowTheBudget) {
  const ModelConfig config = LargeConfig();
  const auto activations = [&](const LearnerOptions& options) {
    return NeedOf(config, torch::kBFloat16, options).activations;
  };
  EXPECT_EQ(activations({}), activations({.token_budget = ActivationBudget::kTokensMin}));
  EXPECT_EQ(activations({.token_budget = 4096}), 4 * activations({.token_budget = 1024}));
  EXPECT_GT(activations({.activation_checkpointing = ActivationCheckpointing::kOff}),
            4 * activations({.activation_checkpointing = ActivationCheckpointing::kOn}));
}

TEST(MemoryNeed, EnoughIsNoError) {
  EXPECT_EQ(Advice({}, torch::kCPU, 26), "");
  EXPECT_EQ(Advice({}, torch::Device(torch::kCUDA, 0), 26), "");
}

TEST(MemoryNeed, TooLittleNamesTheSettingsThatWouldFit) {
  // On the CPU moments may be smaller.
  EXPECT_THAT(
      Advice({}, torch::kCPU, 20),
      AllOf(HasSubstr("cpu has 20 GiB free"), HasSubstr("gradients 5.75 GiB"),
            HasSubstr("train.optimizer_state: bf16 ("), HasSubstr("train.optimizer_state: 8bit ("),
            HasSubstr("train.lora: {rank: 16} (")));
  EXPECT_THAT(Advice({}, torch::kCPU, 16),
              AllOf(Not(HasSubstr("optimizer_state: bf16")), HasSubstr("optimizer_state: 8bit (")));
  EXPECT_THAT(Advice({}, torch::Device(torch::kCUDA, 3), 20),
              AllOf(HasSubstr("cuda:3 has"), Not(HasSubstr("optimizer_state")),
                    HasSubstr("it would fit with train.lora: {rank: 16} (")));
  // A budget that is too large names one that fits.
  const LearnerOptions large{.token_budget = 1 << 20};
  const std::string advice = Advice(large, torch::Device(torch::kCUDA, 0), 40);
  EXPECT_THAT(advice, HasSubstr("it would fit with train.token_budget: "));
  EXPECT_THAT(
      Advice({.token_budget = 65'536, .activation_checkpointing = ActivationCheckpointing::kOff},
             torch::Device(torch::kCUDA, 0), 60),
      HasSubstr("train.activation_checkpointing: full ("));
}

TEST(MemoryNeed, WhatOnlyAllTogetherOrNothingMakesFitIsSaid) {
  const LearnerOptions greedy{.token_budget = 65'536,
                              .activation_checkpointing = ActivationCheckpointing::kOff};
  EXPECT_THAT(Advice(greedy, torch::kCPU, 8),
              HasSubstr("it would fit with all of train.activation_checkpointing: full, "
                        "train.token_budget: 256, train.optimizer_state: 8bit, "
                        "train.lora: {rank: 16} ("));
  EXPECT_THAT(Advice(greedy, torch::kCPU, 2), HasSubstr("no setting makes it fit"));
}

}  // namespace
}  // namespace whetstone
