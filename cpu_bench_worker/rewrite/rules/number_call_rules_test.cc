#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr char kCallsInVectors[] = "calls in vectors";
constexpr char kInVectors[] = "__attribute__((const, simd(\"notinbranch\"))) ";

TEST_F(RewriteTest, FunctionsOfNumbersAreDeclaredInVectorsBehindIncludes) {
  const Rewrites rewrites =
      Of("#include <math.h>\n  # include <algorithm>\n\n"
         "static double g(double x) { return std::log(x) * exp(-x); }\n"
         "void f(const double* a, double* b, int n) { for (int i = 0; i < n; i++) { b[i] = "
         "g(sqrt(a[i])) + std::pow(a[i], 2.5); } }",
         kCallsInVectors);
  ASSERT_EQ(rewrites.size(), 1u);
  const std::string in_vectors = kInVectors;
  EXPECT_THAT(rewrites[0].source,
              StartsWith("#include <math.h>\n  # include <algorithm>\n"
                         "__attribute__((const)) double sqrt(double) noexcept;\n" +
                         in_vectors + "double exp(double) noexcept;\n" + in_vectors +
                         "double log(double) noexcept;\n" + in_vectors +
                         "double pow(double, double) noexcept;\n\nstatic double g("));
  EXPECT_THAT(Of(rewrites[0].source, kCallsInVectors), testing::IsEmpty()) << "once is enough";
}

TEST_F(RewriteTest, FloatsCallTheFunctionThatIsDeclared) {
  const std::string made =
      By(kCallsInVectors,
         "void f(float* b, int n) { for (int i = 0; i < n; i++) { b[i] = std::exp(std::cos(b[i])) "
         "+ logf(b[i]); } }");
  EXPECT_THAT(made, HasSubstr("float expf(float) noexcept;"));
  EXPECT_THAT(made, HasSubstr("float cosf(float) noexcept;"));
  EXPECT_THAT(made, HasSubstr("b[i] = expf(cosf(b[i])) + logf(b[i]);"));
}

TEST_F(RewriteTest, SumsMayBeTakenInAnyOrderAlongWithIt) {
  const Rewrites rewrites =
      Of("double f(const double* a, int n) { double s = 0; for (int i = 0; i < n; i++) { s += "
         "exp(a[i]); } return s; }",
         "calls in vectors, sums in any order");
  ASSERT_EQ(rewrites.size(), 1u);
  EXPECT_THAT(rewrites[0].source, StartsWith("#pragma GCC optimize(\"fast-math\", "));
}

TEST_F(RewriteTest, BehindAPragmaFunctionsOfHeadersAreChoicesAndBuiltIn) {
  const auto made = [](const std::string& value) {
    return By("sums in any order",
              "static double g(double x) { return std::abs(x); } float f(const float* a, const "
              "double* d, int n) { float s = 0; for (int i = 0; i < n; i++) { s += " +
                  value + "; } return s; }");
  };
  EXPECT_THAT(made("g(d[i])"), HasSubstr("return __builtin_fabs(x);"));
  EXPECT_THAT(made("std::max(a[i], 0.5f)"), HasSubstr("s += (a[i] < 0.5f ? 0.5f : a[i]);"));
  EXPECT_THAT(made("std::min(std::max(d[i], 2.0), d[0] - 1)"),
              HasSubstr("s += ((d[0] - 1) < (d[i] < 2.0 ? 2.0 : d[i]) ? (d[0] - 1) : (d[i] < 2.0 ? "
                        "2.0 : d[i]));"));
  EXPECT_THAT(made("std::max(std::exp(a[i]), std::floor(a[i]))"),
              HasSubstr("s += (expf(a[i]) < __builtin_floorf(a[i]) ? __builtin_floorf(a[i]) : "
                        "expf(a[i]));"));
  EXPECT_THAT(made("std::max(a[i], s)"), HasSubstr("s += (s < a[i] ? a[i] : s);"));
  for (const char* value :
       {"std::max<double>(i, n)", "std::max(std::tgamma(a[i]), 1.0f)", "std::min(a[i++], s)"})
    EXPECT_THAT(made(value), HasSubstr(std::string("s += ") + value + ";"));
  EXPECT_THAT(made("std::max({a[i], a[0], 0.5f}) + std::abs(i) + std::max(i, n)"),
              HasSubstr("s += std::max({a[i], a[0], 0.5f}) + std::abs(i) + std::max(i, n);"));
}

TEST_F(RewriteTest, WhatTemplatesCallStays) {
  EXPECT_THAT(By("sums in any order",
                 "template <class T> constexpr T g(T x) { return std::abs(x); } double f(const "
                 "double* a, float b, int n) { double s = g(b); for (int i = 0; i < n; i++) { s += "
                 "g(a[i]); } return s; }"),
              HasSubstr("return std::abs(x);"));
}

TEST_F(RewriteTest, OtherFunctionsAreNotDeclared) {
  for (const char* value : {"std::fmod(b[i], 3.0)", "tgamma(b[i])", "std::fabs(b[i])", "2 * b[i]",
                            "mine(b[i])", "std::hypot(b[i], b[i], 1.0)"})
    EXPECT_FALSE(Fits(kCallsInVectors,
                      std::string("static double mine(double x) { return x + 1; } void f("
                                  "double* b, int n) { for (int i = 0; i < n; i++) { b[i] = ") +
                          value + "; } }"))
        << value;
}

TEST_F(RewriteTest, ACosineBesideASineIsASineToo) {
  EXPECT_THAT(
      By("calls in vectors, cosines as sines",
         "void f(const double* x, float* y, int n) { for (int i = 0; i < n; i++) { double a "
         "= x[i] * 2; y[i] = sin(a) * cos(a) + cos(x[i]) + std::sin(y[i] + 1) - "
         "std::cos(y[i] + 1); } }"),
      testing::HasSubstr(
          "y[i] = sin(a) * sin(a + 1.57079632679489661923) + cos(x[i]) + sinf(y[i] + 1) - "
          "::sinf((y[i] + 1) + 1.57079632679489661923f);"));
  EXPECT_FALSE(Fits("calls in vectors, cosines as sines",
                    "void f(double* x, int n) { for (int i = 0; i < n; i++) x[i] = sin(x[i]) + "
                    "cos(x[i] + 1); }"))
      << "of another angle";
}

}  // namespace
}  // namespace whetstone
