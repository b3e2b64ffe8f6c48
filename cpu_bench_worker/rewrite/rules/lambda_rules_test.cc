// The rule that makes a function of a lambda.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr char kLambdaApart[] = "a lambda by itself";

TEST_F(RewriteTest, ALambdaBecomesAFunctionOfWhatItCaptures) {
  EXPECT_THAT(
      By(kLambdaApart,
         "float f(const float* x, int n) { float s = 0; const auto at = [&](int i, int k) { return "
         "x[i] * x[k]; }; for (int i = 0; i < n; i++) s += at(i, at(0, i) > 0); return s; }"),
      StartsWith("static float at2(int i, int k, const float * x) { return x[i] * x[k]; } float "
                 "f(const float* x, int n) { float s = 0; for (int i = 0; i < n; i++) s += at2(i, "
                 "at2(0, i, x) > 0, x); return s; }"));
  EXPECT_THAT(By(kLambdaApart,
                 "int f(const int* x, int n) { auto all = [x, n]() -> long { long s = 0; for (int "
                 "i = 0; i < n; i++) s += x[i]; return s; }; return all(); }"),
              StartsWith("static long all2(const int * x, int n) { long s = 0; for (int i = 0; i < "
                         "n; i++) s += x[i]; return s; } int f(const int* x, int n) { return "
                         "all2(x, n); }"));
}

TEST_F(RewriteTest, ATypeThatOnlyAClassKnowsIsNotNamed) {
  EXPECT_THAT(By(kLambdaApart,
                 "struct V { using size_type = unsigned long; size_type size() const; };\nunsigned "
                 "long f(const V& v) { const auto length = [&](const V& w) { return w.size(); }; "
                 "return length(v); }"),
              HasSubstr("static unsigned long length2(const V& w)"));
}

TEST_F(RewriteTest, WhatALambdaChangesIsAReference) {
  EXPECT_THAT(By(kLambdaApart,
                 "int f(const int* x, int n) { int h[4] = {}; int m = 0; const auto add = [&](int "
                 "i) { h[x[i] & 3]++; m += 1; }; for (int i = 0; i < n; i++) add(i); return m + "
                 "h[0]; }"),
              HasSubstr("static void add2(int i, int* h, const int * x, int& m) {"));
}

TEST_F(RewriteTest, ALambdaThatIsMoreThanAFunctionStays) {
  for (const std::string lambda :
       {"auto g = [n](int i) { return i + n; }; n = 2;", "auto g = [&](auto i) { return i + n; };",
        "auto g = [k = n](int i) { return i + k; };", "auto g = [&](int i = 1) { return i + n; };",
        "int k = 0; auto g = [&, k](int i) mutable { return i + n + k++; };",
        "struct P { int x; } p{n}; auto g = [p](int i) { return i + p.x; };",
        "auto g = [&](int i) { return i + n; }; const auto h = [&](int i) { return g(i); }; s += "
        "h(2);",
        "auto g = [&](int i) { return i + n; }; auto h = g; s += h(2);"}) {
    EXPECT_EQ(By(kLambdaApart, "int f(int n) { int s = 0; " + lambda + " return s + g(1); }"), "")
        << lambda;
  }
}

TEST_F(RewriteTest, OtherRulesSeeWhatALambdaDoes) {
  EXPECT_THAT(Rules("float f(const float* x, int n) { float s = 0; const auto at = [&](int i) { "
                    "return x[i] * x[i]; }; for (int i = 0; i < n; i++) s += at(i); return s; }"),
              testing::Contains("a lambda by itself, then a function in its place"));
}

}  // namespace
}  // namespace whetstone
