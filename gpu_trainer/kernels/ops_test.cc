// The hand-written kernels against LibTorch's operators, and what makes results independent of the
// batch: a row's bits.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <atomic>
#include <cmath>
#include <numeric>
#include <thread>
#include <vector>

#include "gpu_trainer/kernels/cpu/cpu.h"
#include "gpu_trainer/kernels/elementwise.h"
#include "gpu_trainer/kernels/linear.h"
#include "gpu_trainer/kernels/parallel.h"

namespace whetstone {
namespace {

double MaxDifference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.to(torch::kDouble) - b.to(torch::kDouble)).abs().max().item<double>();
}

// Relative to 1 + |b|.
double MaxRelative(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor want = b.to(torch::kDouble);
  return ((a.to(torch::kDouble) - want).abs() / (1 + want.abs())).max().item<double>();
}

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

TEST(LinearTest, ARowsBitsDoNotDependOnTheRowsBeside) {
  if (!HasAvx512Kernels()) return;  // no AVX-512: LibTorch's matmul runs
  torch::manual_seed(2);
  for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
    const torch::Tensor x = torch::randn({67, 200}).to(dtype);
    const torch::Tensor w = torch::randn({300, 200}).to(dtype);
    const torch::Tensor together = Linear(x, w);
    for (const int64_t row : {0, 1, 31, 48, 65, 66}) {
      EXPECT_TRUE(torch::equal(together.narrow(0, row, 1), Linear(x.narrow(0, row, 1), w))) << row;
    }
    EXPECT_TRUE(torch::equal(together.narrow(0, 5, 11), Linear(x.narrow(0, 5, 11), w)));
  }
}

// So wide that the kernel cuts k into stretches, except for few rows.
TEST(LinearTest, WideRows) {
  torch::manual_seed(4);
  for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
    for (const int64_t k : {1024, 2047, 2048, 3131}) {
      const torch::Tensor x = torch::randn({35, k}).to(dtype), w = torch::randn({21, k}).to(dtype);
      const torch::Tensor y = Linear(x, w);
      EXPECT_LT(MaxDifference(y, at::linear(x.to(torch::kDouble), w.to(torch::kDouble))), 1e-3);
      if (!HasAvx512Kernels()) continue;
      for (const int64_t rows : {1, 3, 7, 20}) {
        EXPECT_TRUE(torch::equal(y.narrow(0, 9, rows), Linear(x.narrow(0, 9, rows), w))) << rows;
      }
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

TEST(ParallelForTest, EveryTaskRunsOnce) {
  for (const int64_t tasks : {0, 1, 2, 3, 1000}) {
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(tasks));
      ParallelFor(tasks, [&](int64_t task) { ++runs[static_cast<size_t>(task)]; });
      for (const auto& run : runs) ASSERT_EQ(run.load(), 1);
    }
  }
}

TEST(ParallelForTest, NestedAndConcurrentCallsWork) {
  std::atomic<int64_t> sum{0};
  auto work = [&] {
    for (int repeat = 0; repeat < 20; ++repeat) {
      ParallelFor(10, [&](int64_t) { ParallelFor(10, [&](int64_t i) { sum += i; }); });
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum.load(), 4 * 20 * 10 * 45);
}

}  // namespace
}  // namespace whetstone
