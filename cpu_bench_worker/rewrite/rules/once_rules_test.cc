// Rules of sums that are computed again and again.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

const char kDoneOnce[] = "a loop done once for each";
const char kFactored[] = "factored out of a sum";

TEST_F(RewriteTest, ALoopThatComputesTheSameInEveryTurnIsDoneOnce) {
  EXPECT_THAT(By(kDoneOnce,
                 "void f(const float* a, float* b, int n) { for (int i = 0; i < n; i++) { float m "
                 "= 0; for (int k = 0; k < n; k++) { m += a[k]; } m /= n; b[i] = a[i] - m; } }"),
              HasSubstr("float once; { float m = 0; for (int k = 0; k < n; k++) { m += a[k]; } "
                        "once = m; } for (int i = 0; i < n; i++) { float m = once; m /= n; b[i] = "
                        "a[i] - m; }"));
  EXPECT_THAT(
      By(kDoneOnce,
         "void f(const float* a, const float* b, float* c, int n) { for (int u = 0; u < 8; u++) { "
         "for (int v = 0; v < 8; v++) { float s = 0; for (int y = 0; y < 8; y++) { float t = 0; "
         "for (int x = 0; x < 8; x++) { t += a[y * 8 + x] * b[v * 8 + x]; } s += t * b[u * 8 + y]; "
         "} c[u * 8 + v] = s; } } }"),
      HasSubstr("float table[64]; for (int v = 0; v < 8; v++) { for (int y = 0; y < 8; y++) { "
                "float t = 0; for (int x = 0; x < 8; x++) { t += a[y * 8 + x] * b[v * 8 + x]; } "
                "table[v * 8 + y] = t; } } for (int u = 0; u < 8; u++) { for (int v = 0; v < 8; "
                "v++) { float s = 0; for (int y = 0; y < 8; y++) { float t = table[v * 8 + y]; s "
                "+= t * b[u * 8 + y]; } c[u * 8 + v] = s; } }"));
  EXPECT_THAT(By(kDoneOnce,
                 "void f(const int* a, int* b, int n, int m) { for (int i = 0; i < n; i++) { for "
                 "(int j = 0; j < m; j++) { int s = 0; int c = 0; for (int k = 0; k < 9; k++) { s "
                 "+= a[j + k]; c++; } b[i] += s / c; } } }"),
              HasSubstr("int* const table = new int[m > 0 ? m : 0]; int* const table2 = new int[m "
                        "> 0 ? m : 0]; for (int j = 0; j < m; j++) {"));
  EXPECT_THAT(
      By(kDoneOnce,
         "void f(const int* a, int* b, int n, int h, int w) { for (int i = 0; i < n; i++) "
         "{ for (int y = 1; y <= h; y++) { for (int x = n; x < w; x++) { int s = 0; for (int "
         "k = 0; k < 9; k++) { s += a[y + x * k]; } b[i] += s; } } } }"),
      HasSubstr("int* const table = new int[(long)(h + 1 > 0 ? h + 1 : 0) * (w > n ? w - n "
                ": 0)];"));
  for (const char* turn :
       {"int s = 0; for (int k = 0; k < 9; k++) s += a[k + i]; b[i] = s;",
        "int s = 0; for (int k = 0; k < 9; k++) s += b[k]; b[i] = s;",
        "int s = i; for (int k = 0; k < 9; k++) s += a[k]; b[i] = s;",
        "int s = 0; if (a[i] > 0) { int t = 0; for (int k = 0; k < 9; k++) t += a[k]; s = t; } "
        "b[i] = s;",
        "int s = 0; s += 1; for (int k = 0; k < 9; k++) s += a[k]; b[i] = s;",
        "int d = a[i]; int s = 0; for (int k = 0; k < 9; k++) s += a[k] * d; b[i] = s;",
        "int s = 0; for (int k = 0; k < 9; k++) { s += a[k]; b[k] = 1; } b[i] = s;"})
    EXPECT_FALSE(
        Fits(kDoneOnce, "void f(const int* a, int* b, int n) { for (int i = 0; i < n; i++) { " +
                            std::string(turn) + " } }"))
        << turn;
}

TEST_F(RewriteTest, WhatAllProductsHaveIsFactoredOut) {
  EXPECT_THAT(
      By(kFactored,
         "void f(const float* a, const float* b, float* c, int n) { for (int y = 0; y < n; y++) { "
         "float s = 0; for (int x = 0; x < n; x++) { s += (a[x] - 1) * b[y] * a[x + y] * 2.0f; } "
         "c[y] = s; } }"),
      HasSubstr("float s = 0; { float part = 0; for (int x = 0; x < n; x++) { part += (a[x] - 1) * "
                "a[x + y]; } if (part != 0) s += b[y] * 2.0f * part; } c[y] = s;"));
  for (const char* sum : {"s += a[x] * b[x];", "s += b[y];", "s *= a[x] * b[y];",
                          "s += a[x] * b[y] + 1;", "s += a[x] * b[y]; s -= b[x];"})
    EXPECT_FALSE(Fits(kFactored,
                      "float f(const float* a, const float* b, int n, int y) { float s = "
                      "0; for (int x = 0; x < n; x++) { " +
                          std::string(sum) + " } return s; }"))
        << sum;
}

TEST_F(RewriteTest, WhatIsTheSameInEveryTurnStandsBeforeTheLoop) {
  const std::string rule = "moved before the loop";
  const auto made = [&](const std::string& turn, const std::string& behind = "") {
    return By(rule,
              "int next(); static int h(int n) { return n + next(); } static int g(const int* a, "
              "int n) { int s = 0; for (int i = 0; i < n; "
              "i++) s += a[i]; return s; } int f(const int* a, int* b, int n) { for (int i = 0; i "
              "< n; i++) { " +
                  turn + " } " + behind + " return 0; }");
  };
  const std::string sum = "int m = 0; for (int k = 0; k < n; k++) { m += a[k]; } m /= n; ";
  EXPECT_THAT(made(sum + "b[i] = a[i] - m;"),
              HasSubstr("{ " + sum + "for (int i = 0; i < n; i++) { b[i] = a[i] - m; }"));
  EXPECT_THAT(made("if (a[i] < 0) continue; const int s = g(a, n); b[i] = s + i;"),
              HasSubstr("{ const int s = g(a, n); for (int i = 0; i < n; i++) { if (a[i] < 0) "
                        "continue; b[i] = s + i; }"));
  const std::string sorted = "int t[9]; for (int k = 0; k < 9; k++) { t[k] = a[k]; } ";
  EXPECT_THAT(made(sorted + "std::sort(t, t + 9); b[i] = t[4];"),
              HasSubstr("std::sort(t, t + 9); for (int i = 0; i < n; i++) { b[i] = t[4]; }"));
  EXPECT_THAT(made(sum + "b[i] = a[i] - m;", "int m = 2; b[0] += m;"),
              HasSubstr("{ { " + sum + "for (int i = 0; i < n; i++) { b[i] = a[i] - m; } }"));
  for (const std::string& turn : std::vector<std::string>{
           sum + "m += i; b[i] = m;", sum + "b[i] = m++;", "const int s = g(b, n); b[i] = s;",
           "const int s = g(a, i); b[i] = s;", "const int s = next(); b[i] = s;",
           "static int s = g(a, n); b[i] = s;", "const int s = h(n); b[i] = s;",
           sum + "b[i] = m; m = 0; for (int k = 0; k < n; k++) { m += a[k]; } b[i] += m;",
           "int s = 0; b[i] = s; s = g(a, n); b[i] += s;", sum + ";",
           "const int c = n * 2; b[i] = c;",
           sorted + "t[4] = i; std::sort(t, t + 9); b[i] = t[0];"})
    EXPECT_EQ(made(turn), "") << turn;
}

}  // namespace
}  // namespace whetstone
