// Rules of sums over ranges.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

const char kPrefix[] = "sums from the beginning";

// For each range, `turn`.
std::string EachRange(const std::string& turn) {
  return "void f(const float* a, const int* b, const int* e, float* out, int n) { for (int i = 0; "
         "i < n; i++) { " +
         turn + " } }";
}

TEST_F(RewriteTest, ASumOverARangeIsADifference) {
  EXPECT_THAT(
      By(kPrefix,
         EachRange("int first = b[i]; float s = 0; int c = 0; for (int k = first; k <= e[i]; "
                   "k++) { if (a[k] < 0) continue; s += a[k]; c++; } out[i] = s / c;")),
      HasSubstr(
          "int from = 0; int to = 0; for (int i = 0; i < n; i++) { const int begin = b[i]; const "
          "int end = e[i] + 1; if (begin >= end) continue; if (from == to) { from = begin; to = "
          "end; } if (begin < from) from = begin; if (end > to) to = end; } double* const s_to = "
          "new double[to - from + 1]; s_to[0] = 0; long* const c_to = new long[to - from + 1]; "
          "c_to[0] = 0; for (int k = from; k < to; k++) { s_to[k - from + 1] = s_to[k - from]; "
          "c_to[k - from + 1] = c_to[k - from]; if (a[k] < 0) continue; s_to[k - from + 1] += "
          "a[k]; c_to[k - from + 1]++; } for (int i = 0; i < n; i++) { int first = b[i]; float s "
          "= 0; int c = 0; { const int begin = b[i]; const int end = e[i] + 1; if (begin < end) { "
          "s += s_to[end - from] - s_to[begin - from]; c += c_to[end - from] - c_to[begin - from]; "
          "} } out[i] = s / c; } delete[] s_to; delete[] c_to;"));
  for (const char* turn :
       {"float s = 0; for (int k = 0; k < n; k++) s += a[k]; out[i] = s;",
        "if (i < 3) continue; float s = 0; for (int k = i - 3; k < i; k++) s += a[k]; out[i] = s;",
        "float s = 0; if (i > 0) for (int k = b[i - 1]; k < b[i]; k++) s += a[k]; out[i] = s;",
        "float s = 0; for (int k = b[i]; k < e[i]; k++) s += a[k] * i; out[i] = s;",
        "float s = 0; for (int k = b[i]; k < e[i]; k++) s += out[k]; out[i] = s;",
        "float s = 1; for (int k = b[i]; k < e[i]; k++) s *= a[k]; out[i] = s;",
        "float s = 0; for (int k = b[i]; k < e[i]; k++) { if (a[k] < 0) break; s += a[k]; } out[i] "
        "= s;",
        "float s = 0; for (int k = b[i]; k < e[i]; k++) { if (s < 9) s += a[k]; } out[i] = s;"})
    EXPECT_FALSE(Fits(kPrefix, EachRange(turn))) << turn;
}

}  // namespace
}  // namespace whetstone
