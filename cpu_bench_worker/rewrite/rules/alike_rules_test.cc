// The rule that does calls once that are alike.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

constexpr char kCalledOnce[] = "alike calls once";
constexpr char kCountBelow[] =
    "static int count(const int* x, int n, int y) { int k = 0; for (int i = 0; i < n; i++) if "
    "(x[i] < y) k++; return k; }\n";

TEST_F(RewriteTest, CallsThatAreAlikeAreDoneOnce) {
  EXPECT_THAT(
      By(kCalledOnce, std::string(kCountBelow) +
                          "int f(const int* x, int n, int* y) { int s = 0; for (int j = 0; j < "
                          "n; j++) { y[j] = count(x, n, j); if (count(x, n, j) > 2) s++; } "
                          "return s; }"),
      HasSubstr("for (int j = 0; j < n; j++) { const int once = count(x, n, j); y[j] = "
                "once; if (once > 2) s++; } return s;"));
  EXPECT_THAT(By(kCalledOnce,
                 "void f(double* x, int n) { for (int i = 0; i < n; i++) { if (sqrt(x[i] + 1) > 2 "
                 "&& i > 3) x[i] = sqrt(x[i] + 1); } }"),
              HasSubstr("{ const double once = sqrt(x[i] + 1); if (once > 2 && i > 3) x[i] = "
                        "once; }"));
}

TEST_F(RewriteTest, CallsWithWhatChangesBetweenThemAreNotAlike) {
  for (const std::string body :
       {"for (int j = 0; j < n; j++) { s += count(x, n, j); n--; s += count(x, n, j); }",
        "for (int j = 0; j < n; j++) s += count(x, n, j); for (int j = 0; j < n; j++) s += "
        "count(x, n, j);",
        "s += count(x, n, s++); s += count(x, n, s++);", "s += count(x, n, 1) + count(x, n, 2);"}) {
    EXPECT_EQ(By(kCalledOnce, kCountBelow + ("int f(const int* x, int n) { int s = 0; " + body) +
                                  " return s; }"),
              "")
        << body;
  }
}

}  // namespace
}  // namespace whetstone
