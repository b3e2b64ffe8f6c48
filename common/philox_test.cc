#include "common/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace whetstone {
namespace {

// The answers are those of Random123 1.09 (kat_vectors, philox4x32 10).
TEST(PhiloxTest, KnownAnswers) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t f = 0xffffffff;
  EXPECT_EQ(Philox4x32({f, f, f, f}, {f, f}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, StreamsDiffer) {
  std::set<uint64_t> firsts;
  for (uint64_t a = 0; a < 10; ++a) {
    for (uint64_t b = 0; b < 10; ++b) firsts.insert(Philox(17, {a, b, 0, 0}).Next64());
  }
  EXPECT_EQ(firsts.size(), 100u);
  EXPECT_EQ(Philox(17, {1, 2, 3, 4}).Next64(), Philox(17, {1, 2, 3, 4}).Next64());
}

TEST(PhiloxTest, UniformAndNormalMoments) {
  Philox rng(3, {0, 0, 0, 0});
  const int n = 200000;
  double sum = 0, square = 0, normal_sum = 0, normal_square = 0;
  for (int i = 0; i < n; ++i) {
    const double u = rng.Uniform(), z = rng.Normal();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u, square += u * u, normal_sum += z, normal_square += z * z;
  }
  EXPECT_NEAR(sum / n, 0.5, 0.005);
  EXPECT_NEAR(square / n, 1.0 / 3, 0.005);
  EXPECT_NEAR(normal_sum / n, 0.0, 0.01);
  EXPECT_NEAR(normal_square / n, 1.0, 0.02);
}

TEST(PhiloxTest, BelowIsUniformByChiSquare) {
  Philox rng(5, {0, 0, 0, 0});
  std::vector<int> counts(7);
  const int n = 70000;
  for (int i = 0; i < n; ++i) ++counts[rng.Below(7)];
  double chi = 0;
  for (const int c : counts) chi += std::pow(c - n / 7.0, 2) / (n / 7.0);
  EXPECT_LT(chi, 22.5);  // 99.9 % of chi-square with 6 degrees of freedom lie below it
}

}  // namespace
}  // namespace whetstone
