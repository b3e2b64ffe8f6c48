// These tests hold the SIMD kernels to LibTorch's operators.
#include "gpu_trainer/kernels/elementwise.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "gpu_trainer/kernels/difference_testing.h"

namespace whetstone {
namespace {

// Differences are relative to 1 + |b|.
double MaxRelative(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor want = b.to(torch::kDouble);
  return ((a.to(torch::kDouble) - want).abs() / (1 + want.abs())).max().item<double>();
}

TEST(ElementwiseTest, EqualsLibTorch) {
  torch::manual_seed(3);
  for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
    const double tolerance = dtype == torch::kFloat ? 2e-6 : 4e-3;
    for (const int64_t n : {2, 17, 576, 2000}) {
      const torch::Tensor x = torch::randn({40, n}), delta = torch::randn({40, n});
      const torch::Tensor weight = torch::randn({n}).to(dtype);
      const torch::Tensor sum = (x + delta).to(torch::kDouble);
      const torch::Tensor want =
          sum * torch::rsqrt(sum.square().mean(-1, true) + 1e-5) * weight.to(torch::kDouble);
      const torch::Tensor in_place = x.clone();
      const torch::Tensor got = RmsNorm(in_place, delta, weight, 1e-5);
      EXPECT_EQ(got.scalar_type(), dtype);
      EXPECT_LT(MaxRelative(got, want), tolerance);
      EXPECT_LT(MaxDifference(in_place, sum), 1e-6);

      const torch::Tensor gate_up = torch::randn({40, 2 * n}) * 5;
      const auto halves = gate_up.to(torch::kDouble).chunk(2, 1);
      const torch::Tensor silu = torch::silu(halves[0]) * halves[1];
      EXPECT_LT(MaxRelative(SiluMul(gate_up, dtype), silu), tolerance);
    }
  }
  const torch::Tensor extreme = torch::tensor({{-1e4f, 1e4f, -100.0f, 1.0f, 1.0f, 1.0f}});
  EXPECT_TRUE(
      torch::equal(SiluMul(extreme, torch::kFloat).narrow(1, 1, 1), torch::full({1, 1}, 1e4f)));
  EXPECT_LT(SiluMul(extreme, torch::kFloat)[0][0].abs().item<float>(), 1e-30);
}

TEST(ElementwiseTest, HeadsAreNormalizedOneByOne) {
  torch::manual_seed(4);
  for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
    const torch::Tensor x = torch::randn({5, 6, 22});
    const torch::Tensor weight = torch::randn({22}).to(dtype);
    torch::Tensor want = x.clone();
    const torch::Tensor part = want.narrow(1, 2, 3);
    part.copy_(part * torch::rsqrt(part.square().mean(-1, true) + 1e-6) * weight.to(torch::kFloat));
    RmsNormHeadsInPlace(x, 2, 3, weight, 1e-6);
    EXPECT_LT((x - want).abs().max().item<float>(), 1e-5);
    EXPECT_TRUE(x.narrow(1, 0, 2).equal(want.narrow(1, 0, 2)));
    EXPECT_TRUE(x.narrow(1, 5, 1).equal(want.narrow(1, 5, 1)));
  }
}

TEST(ElementwiseTest, RopeRotatesTheNamedHeadsOnly) {
  torch::manual_seed(4);
  const torch::Tensor x = torch::randn({5, 3, 8});
  const torch::Tensor angle = torch::randn({5, 4});
  const torch::Tensor got = x.clone();
  RopeInPlace(got, 2, angle.cos(), angle.sin());
  const torch::Tensor a = x.narrow(2, 0, 4), b = x.narrow(2, 4, 4);
  const torch::Tensor c = angle.cos().unsqueeze(1), s = angle.sin().unsqueeze(1);
  const torch::Tensor want = torch::cat({a * c - b * s, b * c + a * s}, 2);
  EXPECT_LT(MaxDifference(got.narrow(1, 0, 2), want.narrow(1, 0, 2)), 1e-6);
  EXPECT_TRUE(torch::equal(got.narrow(1, 2, 1), x.narrow(1, 2, 1)));
}

}  // namespace
}  // namespace whetstone
