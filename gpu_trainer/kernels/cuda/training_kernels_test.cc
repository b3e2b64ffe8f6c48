// These tests hold the training pass's kernels for GPUs to autograd in f64, for every device and
// type.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <tuple>
#include <utility>

#include "gpu_trainer/kernels/cuda/cuda_kernels.h"
#include "gpu_trainer/kernels/cuda/cuda_kernels_testing.h"

namespace whetstone {
namespace {

class TrainingKernelsTest : public KernelTest {
 protected:
  static torch::Tensor Wide(const torch::Tensor& x) { return x.cpu().to(torch::kDouble); }
};

INSTANTIATE_TEST_SUITE_P(Devices, TrainingKernelsTest, KernelTestCases(), KernelTestName);

TEST_P(TrainingKernelsTest, ResidualAdd) {
  const torch::Tensor x = Random({3, 333}), delta = Rounded(Random({3, 333}));
  const torch::Tensor y = torch::empty_like(x);
  Check(Kernels().residual_add({.x = Data<float>(x),
                                .delta = delta.data_ptr(),
                                .y = Data<float>(y),
                                .count = x.numel(),
                                .type = Number()},
                               nullptr));
  EXPECT_LT(Error(y, Wide(x) + Wide(delta)), 1e-6);
}

// Fewer rows than partial sums, several for each, and rows wider than a block.
TEST_P(TrainingKernelsTest, RmsNormBackward) {
  for (const auto& [rows, width] : {std::pair<int64_t, int64_t>{3, 1},
                                    {700, 40},
                                    {5, 1000},
                                    {1600, 300},
                                    {4, 1300},
                                    {2, 8192}}) {
    for (const bool weight_wanted : {true, false}) {
      const torch::Tensor x = Random({rows, width}), before = Random({rows, width});
      const torch::Tensor dy = Rounded(Random({rows, width})), weight = Rounded(Random({width}));
      const torch::Tensor wide = Wide(x).requires_grad_(), leaf = Wide(weight).requires_grad_();
      const torch::Tensor scale = torch::rsqrt(wide.square().mean(-1, true) + 1e-5);
      (wide * scale * leaf).backward(Wide(dy));
      const torch::Tensor rstd = scale.detach().to(torch::kFloat).to(Device());
      const torch::Tensor dx = before.clone();
      const torch::Tensor sums = torch::full({kNormPartialSums, width}, NAN, Floats());
      Check(Kernels().rms_norm_backward({.dy = dy.data_ptr(),
                                         .x = Data<float>(x),
                                         .weight = weight.data_ptr(),
                                         .rstd = Data<float>(rstd),
                                         .dx = Data<float>(dx),
                                         .weight_sums = weight_wanted ? Data<float>(sums) : nullptr,
                                         .rows = rows,
                                         .width = width,
                                         .type = Number()},
                                        nullptr));
      // Nothing is rounded to T.
      EXPECT_LT(Error(dx, Wide(before) + wide.grad()), 2e-5);
      if (weight_wanted) {
        EXPECT_LT(Error(sums.sum(0), leaf.grad()), 1e-4);
      }
    }
  }
  EXPECT_NE(Kernels().rms_norm_backward({.dy = nullptr,
                                         .x = nullptr,
                                         .weight = nullptr,
                                         .rstd = nullptr,
                                         .dx = nullptr,
                                         .weight_sums = nullptr,
                                         .rows = 1,
                                         .width = kNormWidthMax + 1,
                                         .type = Number()},
                                        nullptr),
            nullptr);
}

TEST_P(TrainingKernelsTest, HeadNormAndItsGradient) {
  for (const auto& [rows, heads, d] : {std::tuple<int64_t, int64_t, int64_t>{5, 3, 22},
                                       {400, 2, 16},
                                       {3, 1, 256},
                                       {2100, 4, 16}}) {
    const int64_t first = d, stride = (heads + 2) * d;
    const torch::Tensor qkv = Rounded(Random({rows, stride})), normed = qkv.clone();
    const torch::Tensor weight = Rounded(Random({d})), dqkv = Rounded(Random({rows, stride}));
    const auto of = [&, rows = rows, heads = heads, d = d](const torch::Tensor& x) {
      return x.narrow(1, first, heads * d).reshape({rows, heads, d});
    };
    const auto others = [&, heads = heads, d = d](const torch::Tensor& x) {
      return torch::cat({x.narrow(1, 0, d), x.narrow(1, first + heads * d, d)}, 1);
    };
    const torch::Tensor wide = of(Wide(qkv)).requires_grad_(), leaf = Wide(weight).requires_grad_();
    const torch::Tensor want = wide * torch::rsqrt(wide.square().mean(-1, true) + 1e-5) * leaf;
    want.backward(of(Wide(dqkv)));
    Check(Kernels().head_norm({.qkv = normed.data_ptr(),
                               .weight = weight.data_ptr(),
                               .rows = rows,
                               .stride = stride,
                               .first = first,
                               .heads = static_cast<int32_t>(heads),
                               .head_dim = static_cast<int32_t>(d),
                               .eps = 1e-5f,
                               .type = Number()},
                              nullptr));
    EXPECT_LT(Error(of(normed), want.detach()), Tolerance());
    EXPECT_TRUE(torch::equal(others(normed), others(qkv)));
    for (const bool weight_wanted : {true, false}) {
      const torch::Tensor gradient = dqkv.clone();
      const torch::Tensor sums = torch::full({kNormPartialSums, d}, NAN, Floats());
      Check(
          Kernels().head_norm_backward({.dqkv = gradient.data_ptr(),
                                        .qkv = qkv.data_ptr(),
                                        .weight = weight.data_ptr(),
                                        .weight_sums = weight_wanted ? Data<float>(sums) : nullptr,
                                        .rows = rows,
                                        .stride = stride,
                                        .first = first,
                                        .heads = static_cast<int32_t>(heads),
                                        .head_dim = static_cast<int32_t>(d),
                                        .eps = 1e-5f,
                                        .type = Number()},
                                       nullptr));
      EXPECT_LT(Error(of(gradient), wide.grad()), Tolerance());
      EXPECT_TRUE(torch::equal(others(gradient), others(dqkv)));
      if (weight_wanted) {
        EXPECT_LT(Error(sums.sum(0), leaf.grad()), 1e-4);
      }
    }
  }
}

TEST_P(TrainingKernelsTest, RotateAndBack) {
  const int64_t rows = 5, heads = 3, all = 4, d = 22;
  const torch::Tensor qkv = Rounded(Random({rows, all * d})), rotated = qkv.clone();
  const torch::Tensor angle = torch::rand({40, d / 2}) * 6;
  const torch::Tensor cos = angle.cos().to(Device()), sin = angle.sin().to(Device());
  const torch::Tensor positions = torch::tensor({7, 0, 39, 3, 7}, torch::kInt).to(Device());
  const auto rotate = [&](bool backward) {
    Check(Kernels().rotate({.qkv = rotated.data_ptr(),
                            .positions = Data<int32_t>(positions),
                            .cos = Data<float>(cos),
                            .sin = Data<float>(sin),
                            .rows = rows,
                            .stride = all * d,
                            .heads = static_cast<int32_t>(heads),
                            .head_dim = static_cast<int32_t>(d),
                            .backward = backward,
                            .type = Number()},
                           nullptr));
  };
  rotate(false);
  const torch::Tensor wide = Wide(qkv).view({rows, all, d}).narrow(1, 0, heads);
  const torch::Tensor at = positions.cpu().to(torch::kLong);
  const torch::Tensor c = Wide(cos).index_select(0, at).unsqueeze(1);
  const torch::Tensor s = Wide(sin).index_select(0, at).unsqueeze(1);
  const torch::Tensor a = wide.narrow(2, 0, d / 2), b = wide.narrow(2, d / 2, d / 2);
  const torch::Tensor want = torch::cat({a * c - b * s, b * c + a * s}, 2);
  EXPECT_LT(Error(rotated.narrow(1, 0, heads * d), want.reshape({rows, heads * d})), Tolerance());
  EXPECT_TRUE(torch::equal(rotated.narrow(1, heads * d, d), qkv.narrow(1, heads * d, d)));
  rotate(true);
  EXPECT_LT(Error(rotated, Wide(qkv)), 2 * Tolerance());
}

TEST_P(TrainingKernelsTest, SwigluAndItsGradient) {
  const int64_t rows = 4, n = 300;
  const torch::Tensor gate_up = Rounded(Random({rows, 2 * n}) * 4), dy = Rounded(Random({rows, n}));
  const torch::Tensor leaf = Wide(gate_up).requires_grad_();
  const torch::Tensor want = torch::silu(leaf.narrow(1, 0, n)) * leaf.narrow(1, n, n);
  want.backward(Wide(dy));
  const torch::Tensor y = torch::empty_like(dy);
  Check(Kernels().swiglu({.gate_up = gate_up.data_ptr(),
                          .y = y.data_ptr(),
                          .rows = rows,
                          .width = n,
                          .type = Number()},
                         nullptr));
  EXPECT_LT(Error(y, want.detach()), Tolerance());
  const torch::Tensor activated = dy.clone(), gradient = gate_up.clone();
  Check(Kernels().swiglu_backward({.dy = activated.data_ptr(),
                                   .gate_up = gradient.data_ptr(),
                                   .rows = rows,
                                   .width = n,
                                   .type = Number()},
                                  nullptr));
  EXPECT_LT(Error(activated, want.detach()), Tolerance());
  EXPECT_LT(Error(gradient, leaf.grad()), Tolerance());
}

// Three steps, of more numbers than a block has, and not all at a time.
TEST_P(TrainingKernelsTest, AdamW) {
  const int64_t n = 2500;
  const torch::Tensor weight = Rounded(Random({n}));
  const bool bf16 = Type() == torch::kBFloat16;
  torch::Tensor low = torch::zeros({n}, Floats().dtype(torch::kShort));
  torch::Tensor master = weight.to(torch::kFloat, false, /*copy=*/Type() != torch::kFloat);
  torch::Tensor m = torch::zeros({n}, Floats()), v = torch::zeros({n}, Floats());
  torch::Tensor want = Wide(weight).clone(), wide_m = torch::zeros_like(want),
                wide_v = torch::zeros_like(want);
  for (int t = 1; t <= 3; ++t) {
    const torch::Tensor gradient = Random({n}), g = Wide(gradient) * 0.5;
    const kernels::AdamWStep step = {
        .gradient_scale = 0.5f,
        .lr = 1e-2f,
        .beta1 = 0.9f,
        .beta2 = 0.99f,
        .eps = 1e-8f,
        .decay = 1e-3f,
        .correction1 = static_cast<float>(1 - std::pow(0.9, t)),
        .sqrt_correction2 = static_cast<float>(std::sqrt(1 - std::pow(0.99, t)))};
    Check(Kernels().adamw({.step = step,
                           .gradient = Data<float>(gradient),
                           .moment1 = Data<float>(m),
                           .moment2 = Data<float>(v),
                           .weight = Type() == torch::kFloat ? nullptr : weight.data_ptr(),
                           .low = bf16 ? Data<int16_t>(low) : nullptr,
                           .master = bf16 ? nullptr : Data<float>(master),
                           .count = n,
                           .type = Number()},
                          nullptr));
    EXPECT_EQ(gradient.abs().max().item<float>(), 0);
    wide_m = 0.9 * wide_m + 0.1 * g;
    wide_v = 0.99 * wide_v + 0.01 * g * g;
    want = want * (1 - 1e-3) - 1e-2 * (wide_m / (1 - std::pow(0.9, t))) /
                                   ((wide_v / (1 - std::pow(0.99, t))).sqrt() + 1e-8);
  }
  // The master is f32 whatever the weight is.
  const torch::Tensor bits = weight.cpu().view(bf16 ? torch::kShort : weight.scalar_type());
  const torch::Tensor got =
      bf16 ? (bits.to(torch::kInt) * 65536 + low.cpu().to(torch::kInt)).view(torch::kFloat)
           : master;
  EXPECT_LT(Error(got, want), 1e-5);
  EXPECT_LT(Error(m, wide_m), 1e-5);
  EXPECT_LT(Error(v, wide_v), 1e-5);
  EXPECT_LT(Error(weight, want), Tolerance());
}

TEST_P(TrainingKernelsTest, SumOfSquares) {
  for (const int64_t n : {1, 1000, 1100000}) {
    const torch::Tensor x = Random({n});
    const torch::Tensor sums = torch::full({kSquareSums}, NAN, Floats().dtype(torch::kDouble));
    const SumOfSquaresArgs args = {.x = Data<float>(x), .sums = Data<double>(sums), .count = n};
    Check(Kernels().sum_of_squares(args, nullptr));
    const double want = Wide(x).square().sum().item<double>();
    EXPECT_LT(std::abs(sums.sum().item<double>() - want), 1e-9 * want);
    x[n / 2] = NAN;
    Check(Kernels().sum_of_squares(args, nullptr));
    EXPECT_TRUE(std::isnan(sums.sum().item<double>()));
  }
}

}  // namespace
}  // namespace whetstone
