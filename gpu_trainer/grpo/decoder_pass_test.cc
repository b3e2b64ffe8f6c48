#include "gpu_trainer/grpo/decoder_pass.h"

#include <gtest/gtest.h>

#include "common/philox.h"
#include "gpu_trainer/grpo/adamw.h"
#include "gpu_trainer/grpo/head_loss.h"
#include "gpu_trainer/grpo/reference.h"

namespace whetstone {
namespace {

std::vector<int32_t> RandomIds(Philox& rng, int64_t n, int64_t vocab) {
  std::vector<int32_t> ids(n);
  for (int32_t& id : ids) id = static_cast<int32_t>(rng.Below(vocab));
  return ids;
}

// Two groups of branches of very different lengths (one of a single token: no row of its own), and
// a single sequence.
std::vector<Tree> MakeTrees(int64_t vocab) {
  Philox rng(3, {0, 0, 0, 0});
  std::vector<Tree> trees(3);
  const std::vector<std::vector<int64_t>> lengths = {{5, 1, 70, 12}, {3, 9}, {20}};
  for (size_t t = 0; t < trees.size(); ++t) {
    trees[t].prefix = RandomIds(rng, 7 + 40 * static_cast<int64_t>(t), vocab);
    for (const int64_t n : lengths[t]) {
      trees[t].branches.push_back({.ids = RandomIds(rng, n, vocab), .learn_from = 0});
    }
  }
  trees[1].branches[1].learn_from = 4;
  return trees;
}

// Any number that differs from token to token.
double Coefficient(const Target& target) {
  return 0.3 + 0.1 * target.tree - 0.2 * target.branch + 0.01 * target.token;
}

struct Outcome {
  double loss = 0;
  std::vector<double> logprobs;
  Weights gradients;
};

Outcome RunPass(const ModelConfig& config, const Weights& weights, const std::vector<Tree>& trees,
                int64_t budget, double temperature, int64_t chunk_rows,
                DecoderPass::Keep keep = DecoderPass::Keep::kAll) {
  Outcome outcome;
  outcome.gradients = EmptyWeights(config, torch::kFloat, torch::kCPU);
  Clear(outcome.gradients.Named());
  DecoderPass pass(config, weights);
  for (const PackedBatch& batch : Pack(trees, budget)) {
    const torch::Tensor hidden = pass.Forward(batch, keep);
    HeadGradient gradient{.hidden = {}, .weight = outcome.gradients.lm_head};
    const HeadOutput out = HeadLoss(
        hidden, weights.lm_head, batch.targets, temperature,
        [&](size_t i, float logprob, float) {
          outcome.loss += Coefficient(batch.targets[i]) * logprob;
          return TokenSlopes{.logprob = Coefficient(batch.targets[i])};
        },
        &gradient, chunk_rows);
    outcome.logprobs.insert(outcome.logprobs.end(), out.logprobs.begin(), out.logprobs.end());
    pass.Backward(gradient.hidden, outcome.gradients);
  }
  return outcome;
}

// The same by the plain reference, one sequence at a time.
Outcome RunReference(const ModelConfig& config, const Weights& weights,
                     const std::vector<Tree>& trees, double temperature) {
  Outcome outcome;
  Weights leaves = reference::DoubleLeaves(config, weights);
  torch::Tensor loss = torch::zeros({}, torch::kDouble);
  for (size_t t = 0; t < trees.size(); ++t) {
    for (size_t b = 0; b < trees[t].branches.size(); ++b) {
      const Branch& branch = trees[t].branches[b];
      std::vector<int32_t> ids = trees[t].prefix;
      ids.insert(ids.end(), branch.ids.begin(), branch.ids.end());
      const torch::Tensor logprobs = reference::Logprobs(config, leaves, ids, temperature);
      for (int64_t i = branch.learn_from; i < static_cast<int64_t>(branch.ids.size()); ++i) {
        const torch::Tensor logprob =
            logprobs[static_cast<int64_t>(trees[t].prefix.size()) + i - 1];
        outcome.logprobs.push_back(logprob.item<double>());
        loss = loss + logprob * Coefficient({.row = 0,
                                             .id = 0,
                                             .tree = static_cast<int32_t>(t),
                                             .branch = static_cast<int32_t>(b),
                                             .token = static_cast<int32_t>(i)});
      }
    }
  }
  loss.backward();
  outcome.loss = loss.item<double>();
  outcome.gradients = leaves;  // read .grad()
  return outcome;
}

double RelativeError(const torch::Tensor& got, const torch::Tensor& want) {
  const torch::Tensor a = got.to(torch::kDouble), b = want.to(torch::kDouble);
  return ((a - b).norm() / (b.norm() + 1e-12)).item<double>();
}

void CompareWithReference(const ModelConfig& config, torch::ScalarType dtype, int64_t budget,
                          double temperature, int64_t chunk_rows, double tolerance) {
  const Weights weights = reference::TinyWeights(config, dtype);
  const std::vector<Tree> trees = MakeTrees(config.vocab);
  const Outcome got = RunPass(config, weights, trees, budget, temperature, chunk_rows);
  const Outcome want = RunReference(config, weights, trees, temperature);
  ASSERT_EQ(got.logprobs.size(), want.logprobs.size());
  double worst = 0;
  for (size_t i = 0; i < got.logprobs.size(); ++i) {
    worst = std::max(worst, std::abs(got.logprobs[i] - want.logprobs[i]));
  }
  EXPECT_LT(worst, 20 * tolerance);
  EXPECT_NEAR(got.loss, want.loss, 20 * tolerance);
  const auto got_gradients = got.gradients.Named();
  const auto leaves = want.gradients.Named();
  for (size_t i = 0; i < leaves.size(); ++i) {
    EXPECT_LT(RelativeError(got_gradients[i].second, leaves[i].second.grad()), tolerance)
        << leaves[i].first;
  }
}

constexpr double kFp32 = 1e-5, kBf16 = 4e-2;

TEST(DecoderPass, LlamaEqualsTheFp64Reference) {
  CompareWithReference(reference::TinyConfig(), torch::kFloat, 1 << 20, 1, 512, kFp32);
}

TEST(DecoderPass, QwenWithBiasAndUntiedHeadEqualsTheFp64Reference) {
  CompareWithReference(reference::TinyConfig(ModelFamily::kQwen2, /*tied=*/false), torch::kFloat,
                       1 << 20, 1, 512, kFp32);
}

TEST(DecoderPass, QwenWithHeadNormsEqualsTheFp64Reference) {
  ModelConfig config = reference::TinyConfig(ModelFamily::kQwen3);
  CompareWithReference(config, torch::kFloat, 1 << 20, 1, 512, kFp32);
  config.head_dim = 22;  // apart from hidden / heads, and no multiple of a vector's width
  CompareWithReference(config, torch::kFloat, 60, 1, 512, kFp32);
  CompareWithReference(config, torch::kBFloat16, 1 << 20, 1, 512, kBf16);
}

TEST(DecoderPass, TemperatureEqualsTheFp64Reference) {
  CompareWithReference(reference::TinyConfig(), torch::kFloat, 1 << 20, 0.7, 512, kFp32);
}

TEST(DecoderPass, Bf16IsClose) {
  CompareWithReference(reference::TinyConfig(), torch::kBFloat16, 1 << 20, 1, 512, kBf16);
}

// Every packing must give the same numbers: all at once, a branch at a time, heads in small chunks.
TEST(DecoderPass, PackingAndChunkingDoNotMatter) {
  for (const int64_t budget : {1, 60, 100}) {
    for (const int64_t chunk_rows : {1, 7}) {
      CompareWithReference(reference::TinyConfig(), torch::kFloat, budget, 1, chunk_rows, kFp32);
    }
  }
}

// A layer that is computed twice gives the same bits as one that kept everything.
TEST(DecoderPass, ActivationCheckpointingChangesNoBit) {
  for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
    const ModelConfig config = reference::TinyConfig(ModelFamily::kQwen3);
    const Weights weights = reference::TinyWeights(config, dtype);
    const std::vector<Tree> trees = MakeTrees(config.vocab);
    const Outcome all = RunPass(config, weights, trees, 100, 1, 512);
    const Outcome inputs = RunPass(config, weights, trees, 100, 1, 512, DecoderPass::Keep::kInputs);
    EXPECT_EQ(all.logprobs, inputs.logprobs);
    const auto want = all.gradients.Named(), got = inputs.gradients.Named();
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(torch::equal(got[i].second, want[i].second)) << want[i].first;
    }
  }
}

// What a CUDA device runs, held to the hand loops; longer than a tile.
TEST(Attention, PlainOperatorsEqualTheHandLoops) {
  torch::manual_seed(2);
  const AttentionShape shape{.heads = 6, .kv_heads = 2, .head_dim = 10};
  const std::vector<Block> blocks = {{.start = 0, .prefix = 5, .branches = {3, 0, 140}},
                                     {.start = 148, .prefix = 20, .branches = {290}}};
  for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
    const double tolerance = dtype == torch::kFloat ? kFp32 : 1e-2;
    const torch::Tensor qkv = torch::randn({458, 100}).to(dtype);
    const torch::Tensor dout = torch::randn({458, 60}).to(dtype);
    const AttentionResult hand = AttentionForward(shape, blocks, qkv);
    const AttentionResult plain = AttentionForward(shape, blocks, qkv, /*plain=*/true);
    EXPECT_LT(RelativeError(hand.out, plain.out), tolerance);
    EXPECT_LT(RelativeError(hand.log_sum, plain.log_sum), kFp32);
    EXPECT_LT(RelativeError(AttentionBackward(shape, blocks, qkv, hand, dout),
                            AttentionBackward(shape, blocks, qkv, plain, dout, /*plain=*/true)),
              tolerance);
  }
}

}  // namespace
}  // namespace whetstone
