// These tests hold the SIMD kernel to LibTorch's product, and to what makes results independent of
// the batch: a row's bits.
#include "gpu_trainer/kernels/linear.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "gpu_trainer/kernels/difference_testing.h"

namespace whetstone {
namespace {

constexpr char kNoKernel[] = "this processor has no kernel for it, so LibTorch multiplies";

class LinearBitsTest : public ::testing::TestWithParam<torch::ScalarType> {};

INSTANTIATE_TEST_SUITE_P(Types, LinearBitsTest, ::testing::Values(torch::kFloat, torch::kBFloat16),
                         [](const auto& info) {
                           return info.param == torch::kFloat ? "Float32" : "BFloat16";
                         });

TEST(LinearTest, EqualsFloat64) {
  torch::manual_seed(1);
  for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
    for (const int64_t rows : {1, 2, 3, 7, 16, 50, 130}) {
      for (const auto& [n, k] : {std::pair<int64_t, int64_t>{1, 1}, {8, 64}, {13, 33}, {70, 100}}) {
        const torch::Tensor x = torch::randn({rows, k}).to(dtype);
        const torch::Tensor w = torch::randn({n, k}).to(dtype), bias = torch::randn({n}).to(dtype);
        const torch::Tensor wide = x.to(torch::kDouble), wide_w = w.to(torch::kDouble);
        const torch::Tensor want = at::linear(wide, wide_w, bias.to(torch::kDouble));
        EXPECT_LT(MaxDifference(Linear(x, w, bias), want), 1e-4) << rows << " " << n << " " << k;
        EXPECT_LT(MaxDifference(Linear(x, w), at::linear(wide, wide_w)), 1e-4);
        EXPECT_EQ(Linear(x, w).scalar_type(), torch::kFloat);
      }
    }
  }
}

TEST_P(LinearBitsTest, DoNotDependOnTheRowsBeside) {
  if (!IsBatchInvariant(torch::kCPU, GetParam())) GTEST_SKIP() << kNoKernel;
  torch::manual_seed(2);
  const torch::Tensor x = torch::randn({67, 200}).to(GetParam());
  const torch::Tensor w = torch::randn({300, 200}).to(GetParam());
  const torch::Tensor together = Linear(x, w);
  for (const int64_t row : {0, 1, 31, 48, 65, 66}) {
    EXPECT_TRUE(torch::equal(together.narrow(0, row, 1), Linear(x.narrow(0, row, 1), w))) << row;
  }
  EXPECT_TRUE(torch::equal(together.narrow(0, 5, 11), Linear(x.narrow(0, 5, 11), w)));
}

// The rows are so wide that the kernel cuts k into stretches, except for few rows.
TEST(LinearTest, WideRows) {
  torch::manual_seed(4);
  for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
    for (const int64_t k : {1024, 2047, 2048, 3131}) {
      const torch::Tensor x = torch::randn({35, k}).to(dtype), w = torch::randn({21, k}).to(dtype);
      const torch::Tensor y = Linear(x, w);
      EXPECT_LT(MaxDifference(y, at::linear(x.to(torch::kDouble), w.to(torch::kDouble))), 1e-3);
    }
  }
}

TEST_P(LinearBitsTest, OfWideRowsDoNotEither) {
  if (!IsBatchInvariant(torch::kCPU, GetParam())) GTEST_SKIP() << kNoKernel;
  torch::manual_seed(4);
  for (const int64_t k : {1024, 2047, 2048, 3131}) {
    const torch::Tensor x = torch::randn({35, k}).to(GetParam());
    const torch::Tensor w = torch::randn({21, k}).to(GetParam());
    const torch::Tensor y = Linear(x, w);
    for (const int64_t rows : {1, 3, 7, 20}) {
      EXPECT_TRUE(torch::equal(y.narrow(0, 9, rows), Linear(x.narrow(0, 9, rows), w))) << rows;
    }
  }
}

TEST(LinearTest, UpdatesInPlaceAreSeen) {
  const torch::Tensor x = torch::ones({2, 40}, torch::kBFloat16);
  const torch::Tensor w = torch::ones({9, 40}, torch::kBFloat16);
  EXPECT_EQ(Linear(x, w)[0][0].item<float>(), 40);
  w.fill_(2);
  EXPECT_EQ(Linear(x, w)[1][8].item<float>(), 80);
}

}  // namespace
}  // namespace whetstone
