#include "gpu_trainer/train/pass/head_loss.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "gpu_trainer/kernels/cuda/cuda_choice.h"

namespace whetstone {
namespace {

struct Reference {
  torch::Tensor logprobs, entropies;  // [n] f64
};

// Computes softmax(hidden weight^T / temperature), the formulas as they stand.
Reference ReferenceHead(const torch::Tensor& hidden, const torch::Tensor& weight,
                        const std::vector<Target>& targets, double temperature) {
  std::vector<int64_t> rows, ids;
  for (const Target& target : targets) {
    rows.push_back(target.row);
    ids.push_back(target.id);
  }
  const torch::Tensor log_p = torch::log_softmax(
      hidden.index_select(0, torch::tensor(rows)).mm(weight.t()) / temperature, -1);
  return {log_p.gather(1, torch::tensor(ids).unsqueeze(1)).squeeze(1),
          -(log_p.exp() * log_p).sum(-1)};
}

double ErrorShare(const torch::Tensor& got, const torch::Tensor& want) {
  const torch::Tensor w = want.to(torch::kDouble);
  return ((got.to(torch::kDouble) - w).norm() / w.norm()).item<double>();
}

// Two targets are on one row, and one row has no target; gradients are by log-probability, by
// entropy, by both and by neither; the SIMD kernels compute, then what other devices run, and
// kernels for GPUs, emulated.
TEST(HeadLoss, LogprobsEntropiesAndGradientsEqualFp64Autograd) {
  constexpr double kTemperature = 1.3;
  at::set_num_threads(1);
  for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
    constexpr HeadChunk kSmall = {.rows = 4, .vocabulary = 30};
    for (const auto& [chunk, operators_only, on_emulator] :
         {std::tuple(kSmall, false, false), std::tuple(HeadChunk(), false, false),
          std::tuple(kSmall, true, false), std::tuple(kSmall, false, true)}) {
      EmulateKernelsForTesting(on_emulator ? &emulated::Kernels() : nullptr);
      torch::manual_seed(5);
      const torch::Tensor hidden = torch::randn({10, 12}).to(dtype);
      const torch::Tensor weight = torch::randn({101, 12}).to(dtype);
      std::vector<Target> targets;
      for (int64_t i = 0; i < 10; ++i) {
        targets.push_back({.row = i == 7 ? 6 : i, .id = static_cast<int32_t>(i * 11)});
      }
      const auto by_logprob = [](size_t i) { return i % 4 < 2 ? 0.4 - 0.1 * i : 0.0; };
      const auto by_entropy = [](size_t i) { return i % 2 == 0 ? 0.7 - 0.2 * i : 0.0; };

      torch::Tensor h = hidden.to(torch::kDouble).set_requires_grad(true);
      torch::Tensor w = weight.to(torch::kDouble).set_requires_grad(true);
      const Reference reference = ReferenceHead(h, w, targets, kTemperature);
      torch::Tensor loss = torch::zeros({}, torch::kDouble);
      for (int64_t i = 0; i < 10; ++i) {
        loss =
            loss + by_logprob(i) * reference.logprobs[i] + by_entropy(i) * reference.entropies[i];
      }
      loss.backward();

      HeadGradient gradient{.hidden = {}, .weight = torch::zeros({101, 12})};
      const HeadOutput out = HeadLoss(
          hidden, weight, targets, kTemperature,
          [&](size_t i, float, float) {
            return TokenGradient{.logprob = by_logprob(i), .entropy = by_entropy(i)};
          },
          &gradient, chunk, operators_only);
      const double tolerance = dtype == torch::kFloat ? 1e-5 : 1e-2;
      for (int64_t i = 0; i < 10; ++i) {
        EXPECT_NEAR(out.logprobs[i], reference.logprobs[i].item<double>(), 1e-5);
        EXPECT_NEAR(out.entropies[i], reference.entropies[i].item<double>(), 1e-5);
      }
      EXPECT_LT(ErrorShare(gradient.hidden, h.grad()), tolerance);
      EXPECT_LT(ErrorShare(gradient.weight, w.grad()), tolerance);
      // A sweep before the differentiated one sees the very same numbers.
      const HeadOutput before =
          HeadLoss(hidden, weight, targets, kTemperature, nullptr, nullptr, chunk, operators_only);
      EXPECT_EQ(before.logprobs, out.logprobs);
      EXPECT_EQ(before.entropies, out.entropies);
    }
  }
  EmulateKernelsForTesting(nullptr);
}

}  // namespace
}  // namespace whetstone
