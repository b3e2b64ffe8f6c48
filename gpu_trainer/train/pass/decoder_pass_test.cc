#include "gpu_trainer/train/pass/decoder_pass.h"

#include <gtest/gtest.h>

#include "absl/cleanup/cleanup.h"
#include "common/philox.h"
#include "gpu_trainer/kernels/cuda/cuda_choice.h"
#include "gpu_trainer/kernels/gpu_testing.h"
#include "gpu_trainer/model/decoder_reference.h"
#include "gpu_trainer/train/optim/adamw.h"
#include "gpu_trainer/train/pass/elementwise_layers.h"
#include "gpu_trainer/train/pass/head_loss.h"

namespace whetstone {
namespace {

std::vector<int32_t> RandomIds(Philox& rng, int64_t n, int64_t vocab) {
  std::vector<int32_t> ids(n);
  for (int32_t& id : ids) id = static_cast<int32_t>(rng.Below(vocab));
  return ids;
}

// Makes a group of sequences that part after their prompt, some later, one of which is another
// one's beginning and two of which are equal (one learned from elsewhere on), a group of two, and a
// single sequence.
std::vector<LearnedSequence> MakeSequences(int64_t vocab) {
  Philox rng(3, {0, 0, 0, 0});
  std::vector<LearnedSequence> sequences;
  const auto add = [&](std::vector<int32_t> ids, int64_t more, int64_t learn_from, int32_t group) {
    for (const int32_t id : RandomIds(rng, more, vocab)) ids.push_back(id);
    sequences.push_back({.ids = ids, .learn_from = learn_from, .group = group});
    return ids;
  };
  const std::vector<int32_t> prompt = RandomIds(rng, 7, vocab);
  std::vector<int32_t> first = add(prompt, 5, 7, 0);
  add(first, 70, 7, 0);
  add(first, 12, 7, 0);
  add(first, 0, 9, 0);
  add(prompt, 1, 7, 0);
  add(prompt, 30, 7, 0);
  const std::vector<int32_t> other = RandomIds(rng, 47, vocab);
  add(other, 3, 47, 1);
  add(other, 9, 51, 1);
  add({}, 107, 87, 2);
  return sequences;
}

// Returns any number that differs from token to token.
double Coefficient(int32_t sequence, int64_t token) {
  return 0.3 - 0.2 * sequence + 0.01 * static_cast<double>(token);
}

struct Outcome {
  double loss = 0;
  std::vector<std::vector<double>> logprobs;  // By sequence and learned token.
  Weights gradients;
};

Outcome RunPass(const ModelConfig& config, const Weights& weights,
                const std::vector<LearnedSequence>& sequences, int64_t budget, double temperature,
                int64_t chunk_rows, DecoderPass::Keep keep = DecoderPass::Keep::kAll) {
  Outcome outcome;
  outcome.logprobs.resize(sequences.size());
  outcome.gradients = EmptyWeights(config, torch::kFloat, weights.device());
  Clear(outcome.gradients.Named());
  DecoderPass pass(config, weights);
  for (const PackedBatch& batch : Pack(sequences, {.tokens = budget, .tokens_max = budget})) {
    const torch::Tensor hidden = pass.Forward(batch, keep);
    HeadGradient gradient{.hidden = {}, .weight = outcome.gradients.lm_head};
    const HeadChunk chunk{.rows = chunk_rows, .vocabulary = 3 * chunk_rows};
    const HeadOutput out = HeadLoss(
        hidden, weights.lm_head, batch.targets, temperature,
        [&](size_t i, float logprob, float) {
          double coefficient = 0;
          for (const Use& use : batch.uses[i]) {
            coefficient += Coefficient(batch.paths[use.path].sequence, use.token);
          }
          outcome.loss += coefficient * logprob;
          return TokenGradient{.logprob = coefficient};
        },
        &gradient, chunk);
    for (const Path& path : batch.paths) {
      for (const int32_t target : path.targets) {
        outcome.logprobs[path.sequence].push_back(out.logprobs[target]);
      }
    }
    pass.Backward(gradient.hidden, outcome.gradients);
  }
  return outcome;
}

// Does the same by the reference, one sequence at a time.
Outcome RunReference(const ModelConfig& config, const Weights& weights,
                     const std::vector<LearnedSequence>& sequences, double temperature) {
  Outcome outcome;
  outcome.logprobs.resize(sequences.size());
  Weights leaves = reference::DoubleLeaves(config, weights);
  torch::Tensor loss = torch::zeros({}, torch::kDouble);
  for (size_t s = 0; s < sequences.size(); ++s) {
    const int64_t length = static_cast<int64_t>(sequences[s].ids.size());
    const torch::Tensor logprobs =
        reference::Logprobs(config, leaves, sequences[s].ids, temperature);
    for (int64_t i = sequences[s].learn_from; i < length; ++i) {
      const torch::Tensor logprob = logprobs[i - 1];
      outcome.logprobs[s].push_back(logprob.item<double>());
      loss = loss + logprob * Coefficient(static_cast<int32_t>(s), i - sequences[s].learn_from);
    }
  }
  loss.backward();
  outcome.loss = loss.item<double>();
  outcome.gradients = leaves;  // Their .grad() is read.
  return outcome;
}

double RelativeError(const torch::Tensor& got, const torch::Tensor& want) {
  const torch::Tensor a = got.to(torch::kDouble), b = want.to(torch::kDouble);
  return ((a - b).norm() / (b.norm() + 1e-12)).item<double>();
}

void CompareWithReference(const ModelConfig& config, torch::ScalarType dtype, int64_t budget,
                          double temperature, int64_t chunk_rows, double tolerance,
                          torch::Device device = torch::kCPU) {
  const Weights weights = reference::TinyWeights(config, dtype);
  const std::vector<LearnedSequence> sequences = MakeSequences(config.vocab);
  const Outcome got = RunPass(config, CopyWeights(config, weights, dtype, device), sequences,
                              budget, temperature, chunk_rows);
  const Outcome want = RunReference(config, weights, sequences, temperature);
  double worst = 0;
  for (size_t i = 0; i < want.logprobs.size(); ++i) {
    ASSERT_EQ(got.logprobs[i].size(), want.logprobs[i].size());
    for (size_t k = 0; k < want.logprobs[i].size(); ++k) {
      worst = std::max(worst, std::abs(got.logprobs[i][k] - want.logprobs[i][k]));
    }
  }
  EXPECT_LT(worst, 20 * tolerance);
  EXPECT_NEAR(got.loss, want.loss, 20 * tolerance);
  const auto got_gradients = got.gradients.Named();
  const auto leaves = want.gradients.Named();
  for (size_t i = 0; i < leaves.size(); ++i) {
    EXPECT_LT(RelativeError(got_gradients[i].second.cpu(), leaves[i].second.grad()), tolerance)
        << leaves[i].first;
  }
}

constexpr double kFp32 = 1e-5, kFp16 = 5e-3, kBf16 = 4e-2;

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
  config.head_dim = 22;  // It is not hidden / heads, and no multiple of a vector's width.
  CompareWithReference(config, torch::kFloat, 60, 1, 512, kFp32);
  CompareWithReference(config, torch::kBFloat16, 1 << 20, 1, 512, kBf16);
}

TEST(DecoderPass, TemperatureEqualsTheFp64Reference) {
  CompareWithReference(reference::TinyConfig(), torch::kFloat, 1 << 20, 0.7, 512, kFp32);
}

TEST(DecoderPass, Bf16IsClose) {
  CompareWithReference(reference::TinyConfig(), torch::kBFloat16, 1 << 20, 1, 512, kBf16);
}

// LibTorch's operators compute it, which run on a GPU in every compute type.
TEST(DecoderPass, Fp16IsClose) {
  CompareWithReference(reference::TinyConfig(), torch::kHalf, 1 << 20, 1, 512, kFp16);
  CompareWithReference(reference::TinyConfig(ModelFamily::kQwen2, /*tied=*/false), torch::kHalf, 60,
                       0.7, 7, kFp16);
  CompareWithReference(reference::TinyConfig(ModelFamily::kQwen3), torch::kHalf, 60, 1, 512, kFp16);
}

// Kernels for GPUs, here on the emulator, compute what lies between the products.
TEST(DecoderPass, KernelsForGpusEqualTheFp64Reference) {
  EmulateKernelsForTesting(&emulated::Kernels());
  const absl::Cleanup none_again = [] { EmulateKernelsForTesting(nullptr); };
  CompareWithReference(reference::TinyConfig(), torch::kFloat, 1 << 20, 0.7, 512, kFp32);
  CompareWithReference(reference::TinyConfig(ModelFamily::kQwen2, /*tied=*/false), torch::kFloat,
                       60, 1, 7, kFp32);
  CompareWithReference(reference::TinyConfig(ModelFamily::kQwen3), torch::kHalf, 60, 1, 512, kFp16);
  CompareWithReference(reference::TinyConfig(), torch::kBFloat16, 1 << 20, 1, 512, kBf16);
}

TEST(DecoderPass, OnAGpuItEqualsTheFp64Reference) {
  if (!NoGpuReason().empty()) GTEST_SKIP() << NoGpuReason();
  const torch::Device gpu(torch::kCUDA, 0);
  for (const ModelFamily family : {ModelFamily::kLlama, ModelFamily::kQwen2, ModelFamily::kQwen3}) {
    const ModelConfig config = reference::TinyConfig(family);
    CompareWithReference(config, torch::kBFloat16, 1 << 20, 1, 512, kBf16, gpu);
    CompareWithReference(config, torch::kHalf, 60, 0.7, 7, kFp16, gpu);
    CompareWithReference(config, torch::kFloat, 100, 1, 512, kFp32, gpu);
  }
}

// Every packing must give the same numbers: all at once, a sequence at a time, heads in small
// chunks.
TEST(DecoderPass, PackingAndChunkingDoNotMatter) {
  for (const int64_t budget : {1, 60, 100}) {
    for (const int64_t chunk_rows : {1, 7}) {
      CompareWithReference(reference::TinyConfig(), torch::kFloat, budget, 1, chunk_rows, kFp32);
    }
  }
}

// A layer that is computed twice gives the same bits as one that kept everything.
TEST(DecoderPass, ActivationCheckpointingChangesNoBit) {
  for (const auto dtype : {torch::kFloat, torch::kBFloat16, torch::kHalf}) {
    const ModelConfig config = reference::TinyConfig(ModelFamily::kQwen3);
    const Weights weights = reference::TinyWeights(config, dtype);
    const std::vector<LearnedSequence> sequences = MakeSequences(config.vocab);
    const Outcome all = RunPass(config, weights, sequences, 100, 1, 512);
    const Outcome inputs =
        RunPass(config, weights, sequences, 100, 1, 512, DecoderPass::Keep::kInputs);
    EXPECT_EQ(all.logprobs, inputs.logprobs);
    const auto want = all.gradients.Named(), got = inputs.gradients.Named();
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(torch::equal(got[i].second, want[i].second)) << want[i].first;
    }
  }
}

// The operators, which a CUDA device runs, are held to the SIMD kernels; longer than a tile.
// In fp64 LibTorch's operators compute on any machine, as they do in f32 on a GPU.
TEST(Swiglu, OperatorsOfAWideTypeEqualAutograd) {
  torch::manual_seed(7);
  const torch::Tensor gate_up = torch::randn({5, 12}, torch::kDouble).requires_grad_();
  const torch::Tensor dy = torch::randn({5, 6}, torch::kDouble);
  const torch::Tensor y = torch::silu(gate_up.narrow(1, 0, 6)) * gate_up.narrow(1, 6, 6);
  y.backward(dy);
  const torch::Tensor activated = dy.clone(), gradient = gate_up.detach().clone();
  SwigluBackwardInPlace(activated, gradient);
  EXPECT_TRUE(torch::allclose(activated, y.detach()));
  EXPECT_TRUE(torch::allclose(gradient, gate_up.grad()));
}

TEST(Attention, OperatorsEqualTheSimdKernels) {
  torch::manual_seed(2);
  const AttentionShape shape{.heads = 6, .kv_heads = 2, .head_dim = 10};
  const std::vector<Node> nodes = {{.begin = 0, .rows = 5},
                                   {.begin = 5, .rows = 3, .parent = 0},
                                   {.begin = 8, .rows = 140, .parent = 1},
                                   {.begin = 148, .rows = 1, .parent = 1},
                                   {.begin = 149, .rows = 309}};
  const AttentionPlan plan = PlanAttention(nodes, torch::kCPU);
  for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
    const double tolerance = dtype == torch::kFloat ? kFp32 : 1e-2;
    const torch::Tensor qkv = torch::randn({458, 100}).to(dtype);
    const torch::Tensor dout = torch::randn({458, 60}).to(dtype);
    const AttentionResult by_kernels = AttentionForward(shape, plan, qkv);
    const AttentionResult by_operators =
        AttentionForward(shape, plan, qkv, /*operators_only=*/true);
    EXPECT_LT(RelativeError(by_kernels.out, by_operators.out), tolerance);
    EXPECT_LT(RelativeError(by_kernels.log_sum, by_operators.log_sum), kFp32);
    EXPECT_LT(RelativeError(
                  AttentionBackward(shape, plan, qkv, by_kernels, dout),
                  AttentionBackward(shape, plan, qkv, by_operators, dout, /*operators_only=*/true)),
              tolerance);
  }
}

}  // namespace
}  // namespace whetstone
