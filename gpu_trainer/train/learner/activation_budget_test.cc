#include "gpu_trainer/train/learner/activation_budget.h"

#include <gtest/gtest.h>

#include "gpu_trainer/model/config.h"

namespace whetstone {
namespace {

using Keep = DecoderPass::Keep;

constexpr int64_t kGib = int64_t{1} << 30;
const torch::Device kGpu(torch::kCUDA, 0);

// Models of Qwen2.5's shapes.
ModelConfig Config(int64_t hidden, int64_t layers, int64_t heads, int64_t kv_heads,
                   int64_t intermediate) {
  ModelConfig config;
  config.hidden = hidden;
  config.layers = layers;
  config.heads = heads;
  config.kv_heads = kv_heads;
  config.head_dim = hidden / heads;
  config.intermediate = intermediate;
  config.vocab = 151936;
  return config;
}
const ModelConfig kHalfB = Config(896, 24, 14, 2, 4864);
const ModelConfig kOneAndAHalfB = Config(1536, 28, 12, 2, 8960);
const ModelConfig kSevenB = Config(3584, 28, 28, 4, 18944);

ActivationBudget Budget(const ModelConfig& config, int64_t tokens, int64_t free_bytes,
                        torch::Device device,
                        ActivationCheckpointing checkpointing = ActivationCheckpointing::kAuto) {
  return ActivationBudget(config, torch::kBFloat16, tokens, checkpointing, free_bytes, device);
}

TEST(ActivationBudget, OnACpuAPieceKeepsHalfAGibAndAGroupThreeTimesThat) {
  const ActivationBudget budget = Budget(kHalfB, 0, 100 * kGib, torch::kCPU);
  EXPECT_EQ(budget.keep(), Keep::kAll);
  const int64_t bytes = DecoderPass::KeptBytesPerToken(kHalfB, torch::kBFloat16, Keep::kAll);
  EXPECT_EQ(budget.limits().tokens, kGib / 2 / bytes);
  EXPECT_EQ(budget.limits().tokens_max, 3 * kGib / 2 / bytes);
  EXPECT_EQ(Budget(kSevenB, 0, 100 * kGib, torch::kCPU).keep(), Keep::kInputs);
}

TEST(ActivationBudget, AGpuGetsLongProductsWithoutComputingTwiceWhereTheyFit) {
  for (const ModelConfig& config : {kHalfB, kOneAndAHalfB}) {
    const ActivationBudget budget = Budget(config, 0, 50 * kGib, kGpu);
    EXPECT_EQ(budget.keep(), Keep::kAll);
    EXPECT_GE(budget.limits().tokens, 4096);
    EXPECT_EQ(budget.limits().tokens_max, budget.limits().tokens);
  }
  // A larger model computes its layers twice rather than in short pieces.
  const ActivationBudget large = Budget(kSevenB, 0, 50 * kGib, kGpu);
  EXPECT_EQ(large.keep(), Keep::kInputs);
  EXPECT_GE(large.limits().tokens, 4096);
  // So does any where little is free.
  EXPECT_EQ(Budget(kHalfB, 0, 4 * kGib, kGpu).keep(), Keep::kInputs);
}

TEST(ActivationBudget, AGivenNumberOfTokensStandsAndMayTakeHalfOfAGpu) {
  for (const int64_t free : {40, 60}) {
    const ActivationBudget budget = Budget(kOneAndAHalfB, 16384, free * kGib, kGpu);
    EXPECT_EQ(budget.limits().tokens, 16384);
    EXPECT_EQ(budget.keep(), free == 60 ? Keep::kAll : Keep::kInputs);
  }
  EXPECT_EQ(Budget(kHalfB, 4096, 100 * kGib, torch::kCPU).keep(), Keep::kInputs);
}

TEST(ActivationBudget, WhatIsAskedForIsDone) {
  EXPECT_EQ(Budget(kHalfB, 0, 50 * kGib, kGpu, ActivationCheckpointing::kOn).keep(), Keep::kInputs);
  EXPECT_EQ(Budget(kSevenB, 0, kGib, kGpu, ActivationCheckpointing::kOff).keep(), Keep::kAll);
  EXPECT_EQ(Budget(kSevenB, 0, kGib / 4, kGpu).limits().tokens, ActivationBudget::kTokensMin);
}

}  // namespace
}  // namespace whetstone
