#include "common/problem/expression.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

int64_t Value(const char* text) {
  const auto e = Expression::Parse(text);
  EXPECT_TRUE(e.ok()) << e.status();
  const auto v = e->Evaluate({{"n", 7}, {"m", 3}});
  EXPECT_TRUE(v.ok()) << v.status();
  return v.value_or(-999);
}

TEST(ExpressionTest, Values) {
  EXPECT_EQ(Value("n"), 7);
  EXPECT_EQ(Value("2*n*n*n"), 686);
  EXPECT_EQ(Value(" 1 + 2 * ( n - m ) "), 9);
  EXPECT_EQ(Value("-n + 1"), -6);
  EXPECT_EQ(Value("--n"), 7);
  EXPECT_EQ(Value("n / m"), 2);
  EXPECT_EQ(Value("n % m"), 1);
  EXPECT_EQ(Value("n - m - 1"), 3);
  EXPECT_EQ(Value("max(n, m) * min(n, 2)"), 14);
}

TEST(ExpressionTest, ErrorsNameTheColumn) {
  EXPECT_EQ(Expression::Parse("2 * ").status().message(),
            "expression \"2 * \", column 5: ends too early");
  EXPECT_EQ(Expression::Parse("n m").status().message(),
            "expression \"n m\", column 3: unexpected character");
  EXPECT_EQ(Expression::Parse("(n").status().message(),
            "expression \"(n\", column 3: expected ')'");
  EXPECT_FALSE(Expression::Parse("").ok());
  EXPECT_FALSE(Expression::Parse("99999999999999999999").ok());
  EXPECT_FALSE(Expression::Parse(std::string(100000, '(')).ok());
  EXPECT_FALSE(Expression::Parse(std::string(100000, '-') + "1").ok());
}

TEST(ExpressionTest, EvaluationErrors) {
  const auto evaluate = [](const char* text) {
    return Expression::Parse(text)->Evaluate({{"n", 7}}).status();
  };
  EXPECT_EQ(evaluate("k + 1").message(), "expression \"k + 1\": unknown size variable 'k'");
  EXPECT_EQ(evaluate("n / (n - 7)").message(), "expression \"n / (n - 7)\": division by zero");
  EXPECT_FALSE(evaluate("9223372036854775807 + n").ok());
}

}  // namespace
}  // namespace whetstone
