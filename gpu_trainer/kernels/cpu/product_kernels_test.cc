// These tests hold the fp32 kernels of every instruction set that this processor has to plain
// loops, also of those that it would not pick.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gpu_trainer/kernels/cpu/cpu.h"
#include "gpu_trainer/kernels/cpu/product_tables.h"

namespace whetstone {
namespace {

using Floats = std::vector<float>;

struct Kernels {
  std::string isa;
  DecodeKernels<float> decode;
  PanelKernels<float> panel;
};

std::vector<Kernels> AllKernels() {
  std::vector<Kernels> all;
  if (HasAvx2Kernels()) {
    Kernels& kernels = all.emplace_back();
    kernels.isa = "AVX2";
    avx2::Fill(&kernels.decode);
    avx2::Fill(&kernels.panel);
  }
  if (HasAvx512Kernels()) {
    Kernels& kernels = all.emplace_back();
    kernels.isa = "AVX-512";
    avx512::Fill(&kernels.decode);
    avx512::Fill(&kernels.panel);
  }
  return all;
}

class ProductKernelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (all_.empty()) GTEST_SKIP() << "this processor has neither AVX2 nor AVX-512";
  }
  Floats Random(int64_t n) {
    std::normal_distribution<float> normal;
    Floats x(static_cast<size_t>(n));
    for (float& each : x) each = normal(random_);
    return x;
  }

  const std::vector<Kernels> all_ = AllKernels();
  std::mt19937 random_{7};
};

TEST_F(ProductKernelsTest, LinearColumns) {
  for (const int64_t rows : {1, 2, 5, 16, 50}) {
    for (const int64_t k : {1, 20, 100, 1100}) {
      const int64_t n = 13;
      const Floats x = Random(rows * k), w = Random(n * k), bias = Random(n);
      for (const Kernels& kernels : all_) {
        Floats y(static_cast<size_t>(rows * n));
        const LinearArgs<float> args = {x.data(), w.data(), bias.data(), y.data(), rows, n, k};
        kernels.decode.linear_columns(args, 0, 8);
        kernels.decode.linear_columns(args, 8, n);
        for (int64_t i = 0; i < rows * n; ++i) {
          double want = bias[i % n];
          for (int64_t j = 0; j < k; ++j) want += double{x[i / n * k + j]} * w[i % n * k + j];
          ASSERT_NEAR(y[i], want, 1e-3) << kernels.isa << " " << rows << " " << k << " " << i;
        }
      }
    }
  }
}

TEST_F(ProductKernelsTest, Attend) {
  for (const auto& [rows, d, length] :
       {std::array<int64_t, 3>{1, 16, 1}, {4, 48, 70}, {7, 80, 130}}) {
    const int64_t capacity = 192;
    const Floats q = Random(rows * d), k = Random(length * d), v = Random(length * d);
    Floats packed_k(static_cast<size_t>(capacity * d)), packed_v(packed_k.size());
    const PackedKv<float> kv = {packed_k.data(), packed_v.data(), capacity};
    for (int64_t t = 0; t < length; ++t) PackToken(&k[t * d], &v[t * d], d, d, t, kv);
    for (const Kernels& kernels : all_) {
      Floats most(static_cast<size_t>(rows), -INFINITY), sum(most.size()), out(q.size());
      kernels.decode.attend({q.data(), most.data(), sum.data(), out.data(), rows, d, 0.3f}, kv,
                            length);
      for (int64_t r = 0; r < rows; ++r) {
        std::vector<double> want(static_cast<size_t>(d));
        double total = 0;
        for (int64_t t = 0; t < length; ++t) {
          double score = 0;
          for (int64_t i = 0; i < d; ++i) score += double{q[r * d + i]} * k[t * d + i];
          total += std::exp(0.3 * score);
          for (int64_t i = 0; i < d; ++i) want[i] += std::exp(0.3 * score) * v[t * d + i];
        }
        for (int64_t i = 0; i < d; ++i) {
          ASSERT_NEAR(out[r * d + i] / sum[r], want[i] / total, 1e-5) << kernels.isa << " " << d;
        }
      }
    }
  }
}

TEST_F(ProductKernelsTest, PanelProduct) {
  const int64_t m = 9, k = 11, stride = 70;
  for (const int64_t n : {1, 8, 21, 64, 67}) {
    const Floats a = Random(m * k), b = Random(k * stride), before = Random(m * stride);
    for (const Kernels& kernels : all_) {
      Floats c = before;
      kernels.panel.product({a.data(), k, 1, b.data(), stride, c.data(), stride, m, n, k, true});
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < stride; ++j) {
          double want = before[i * stride + j];
          for (int64_t l = 0; l < k && j < n; ++l) want += double{a[i * k + l]} * b[l * stride + j];
          ASSERT_NEAR(c[i * stride + j], want, 1e-4) << kernels.isa << " " << n << " " << j;
        }
      }
    }
  }
}

TEST_F(ProductKernelsTest, SoftmaxAndItsGradient) {
  const int64_t n = 45, valid = 37;
  const float scale = 0.5f;
  const Floats scores = Random(48), dp = Random(48);
  double total = 0;
  for (int64_t i = 0; i < valid; ++i) total += std::exp(scale * double{scores[i]});
  for (const Kernels& kernels : all_) {
    Floats p(48), ds(48), ds_pairs(48), p_pairs(48);
    const ScoreSums sums = kernels.panel.exponentials(scores.data(), n, valid, scale, p.data());
    EXPECT_NEAR(sums.log_sum, std::log(total), 1e-5) << kernels.isa;
    const ScoreRow row = {scores.data(), dp.data(), valid, sums.log_sum, 0.25f};
    kernels.panel.gradients(&row, 1, n, scale, ds.data(), 48, ds_pairs.data(), p_pairs.data());
    for (int64_t i = 0; i < n; ++i) {
      const double want = i < valid ? std::exp(scale * double{scores[i]}) / total : 0;
      ASSERT_NEAR(p[i] * sums.inverse_sum, want, 1e-6) << kernels.isa << " " << i;
      ASSERT_NEAR(p_pairs[i], want, 1e-6) << kernels.isa << " " << i;
      ASSERT_NEAR(ds[i], scale * want * (dp[i] - 0.25), 1e-6) << kernels.isa << " " << i;
      ASSERT_EQ(ds[i], ds_pairs[i]) << kernels.isa << " " << i;
    }
    // Far below the highest score nothing is left, and nothing overflows.
    const Floats far = {0, -300, -1e30f, -88, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    kernels.panel.exponentials(far.data(), 4, 4, 1.0f, p.data());
    EXPECT_NEAR(p[0], 1, 1e-6) << kernels.isa;
    EXPECT_EQ(p[1], 0) << kernels.isa;
    EXPECT_EQ(p[2], 0) << kernels.isa;
  }
}

}  // namespace
}  // namespace whetstone
