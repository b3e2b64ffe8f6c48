// Rules of windows: sums and reaches that move along with a loop.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

TEST_F(RewriteTest, SumsMoveAlongWithTheirWindow) {
  const std::string rule = "sums moved along";
  EXPECT_THAT(
      By(rule,
         "void f(const float* x, float* y, int n, int w) { for (int i = 0; i < n; i++) { float s = "
         "0.0f; for (int k = 0; k < w; k++) { s += x[i + k]; } y[i] = s / w; } }"),
      HasSubstr(
          "float s = 0.0f; for (int i = 0; i < n; i++) { if (i == 0) { for (int k = 0; k < "
          "w; k++) { s += x[i + k]; } } else { s += x[i + w - 1]; s -= x[i - 1 + 0]; } y[i] = s "
          "/ w; }"));
  EXPECT_THAT(
      By(rule,
         "void f(const int* x, int* y, int n, int r) { for (int i = 0; i < n; i++) { int s = 0; "
         "int c = 0; for (int k = i - r; k <= i + r; k++) { if (k >= 0 && k < n) { s += x[k]; "
         "c++; } } y[i] = s / c; } }"),
      HasSubstr("else { if (i + r >= 0 && i + r < n) { s += x[i + r]; c++; } if ((i - 1) - r >= 0 "
                "&& (i - 1) - r < n) { s -= x[(i - 1) - r]; c--; } }"));
  EXPECT_THAT(
      By(rule,
         "void f(const int* in, int* out, int h, int w) { for (int y = 1; y < h - 1; y++) for "
         "(int x = 1; x < w - 1; x++) { int s = 0, t = 0; for (int p = -1; p <= 1; p++) for (int "
         "q = -1; q <= 1; q++) s += in[(y + p) * w + x + q]; out[y * w + x] = s + t; } }"),
      HasSubstr("else { for (int p = -1; p <= 1; p++) { s += in[(y + p) * w + x + 1]; s -= "
                "in[(y + p) * w + x - 1 + (-1)]; } }"));
  EXPECT_THAT(By(rule,
                 "void f(const float* x, float* y, int n) { for (int i = 0; i < n; i++) { float s "
                 "= 0; for (int k = 0; k <= i; k++) { s += x[k]; } y[i] = s; } }"),
              HasSubstr("else { s += x[i]; } y[i] = s; }"));
  for (const char* sum : {"s += x[i - k];", "s += x[i * n + k] * y[k];", "s += y[k] * x[i + k];"})
    EXPECT_EQ(By(rule, std::string("void f(const float* x, const float* y, float* z, int n) { for "
                                   "(int i = 0; i < n; i++) { float s = 0; for (int k = 0; k < n; "
                                   "k++) { ") +
                           sum + " } z[i] = s; } }"),
              "")
        << "every turn has a sum of its own";
  EXPECT_EQ(By(rule,
               "void f(const float* x, float* y, int n) { for (int i = 0; i < n; i++) { float s = "
               "1; for (int k = 0; k < 8; k++) { s *= x[i + k]; } y[i] = s; } }"),
            "")
      << "a product is no sum";
}

TEST_F(RewriteTest, HowFarALoopReachesMovesAlong) {
  const std::string rule = "a reach moved along";
  EXPECT_THAT(
      By(rule,
         "void f(const long* t, const float* x, float* y, int n, long w) { for (int i = 0; i < n; "
         "i++) { float s = 0; int c = 0; for (int j = i; j >= 0; j--) { if (t[i] - t[j] > w) { "
         "break; } s += x[j]; c++; } y[i] = s / c; } }"),
      HasSubstr("float s = 0; int c = 0; int oldest = 0; for (int i = 0; i < n; i++) { s += x[i]; "
                "c++; while (oldest <= i && (t[i] - t[oldest] > w)) { s -= x[oldest]; c--; "
                "oldest++; } y[i] = s / c; }"));
  EXPECT_THAT(
      By(rule,
         "void f(const long* t, float* y, int n, long w) { for (int i = 0; i < n; i++) { int c = "
         "0; for (int j = i; j < n && t[j] <= t[i] + w; ++j) c++; y[i] = c; } }"),
      HasSubstr("int c = 0; int next = 0; for (int i = 0; i < n; i++) { while (next < n && "
                "!(!(t[next] <= t[i] + w))) { c++; next++; } y[i] = c; if (next > i) { c--; } else "
                "{ next++; } }"));
  EXPECT_THAT(
      By(rule,
         "void f(const long* t, float* y, int n, long w) { for (int i = 0; i <= n; i++) { int c = "
         "0; for (int j = i; j <= n; j++) { if (t[j] > t[i] + w) { break; } c++; } y[i] = c; } }"),
      HasSubstr("int c = 0; int next = 0; for (int i = 0; i <= n; i++) { while (next <= n && "
                "!(t[next] > t[i] + w)) { c++; next++; } y[i] = c; if (next > i) { c--; } else { "
                "next++; } }"))
      << "the end is an element too";
  const auto made = [&](const std::string& reach) {
    return By(rule,
              "void f(const long* t, float* y, int n, long w) { for (int i = 0; i < n; i++) "
              "{ float s = 0; for (" +
                  reach + " } y[i] = s; } }");
  };
  EXPECT_NE(made("int j = i; j >= 0; j--) { if (t[i] - t[j] > w) break; s += t[j];"), "");
  EXPECT_EQ(made("int j = i; j >= 0; j--) { if (t[i] - t[j] > w) break; s += t[i] - t[j];"), "")
      << "every turn has a sum of its own";
  EXPECT_EQ(made("int j = i; j >= 0; j--) { if (s > w) break; s += t[j];"), "")
      << "the sum itself says so";
  EXPECT_EQ(made("int j = i; j >= 4; j--) { if (t[i] - t[j] > w) break; s += t[j];"), "")
      << "it does not reach back to the first turn";
  EXPECT_EQ(made("int j = i; j >= 0; j--) { s += t[j];"), "") << "nothing ends it";
}

}  // namespace
}  // namespace whetstone
