#include "cpu_bench_worker/rewrite/analysis/polynomial.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

const Polynomial n("n"), m("m"), one(1);

TEST(PolynomialTest, IsSaidProductsFirst) {
  EXPECT_EQ((n * m + Polynomial(63)).Text(), "m*n+63");
  EXPECT_EQ((one + n - m * Polynomial(2)).Text(), "n+1-2*m");
  EXPECT_EQ(((n - one) * m + m - one + one).Text(), "m*n");
  EXPECT_EQ((n - n).Text(), "0");
  EXPECT_EQ((Polynomial(0) - n).Text(), "-n");
}

TEST(PolynomialTest, KnowsWhereItIsNotBelowZero) {
  EXPECT_TRUE((n * m + one).IsNeverNegative());
  EXPECT_FALSE((n - one).IsNeverNegative());
  EXPECT_TRUE((n - one).IsNeverNegativeFrom1());
  EXPECT_TRUE((n * m - m).IsNeverNegativeFrom1());
  EXPECT_FALSE((n - m).IsNeverNegativeFrom1());
  EXPECT_EQ((n * m - one).At([](const std::string& name) { return name == "n" ? 3.0 : 5.0; }), 14);
  EXPECT_EQ(n + m, m + n);
  EXPECT_FALSE(n == m);
}

TEST(PolynomialTest, GivesUpWhereItGetsTooLarge) {
  Polynomial power = n + m;
  for (int i = 0; i < 40; ++i) power = power * power;
  EXPECT_FALSE(power.exact());
  Polynomial number(int64_t{1} << 39);
  EXPECT_TRUE(number.exact());
  EXPECT_FALSE((number * number * number).exact());
  EXPECT_FALSE((number + number + number).exact());
  EXPECT_FALSE((power - power).exact()) << "what is not known stays so";
}

}  // namespace
}  // namespace whetstone
