// Rules that give loops their plain form.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::Contains;
using testing::HasSubstr;

const char kPlain[] = "plain loops";

std::string Body(const std::string& body) {
  return "int f(const int* a, int* b, int n, int m) { " + body + " return 0; }";
}

TEST_F(RewriteTest, LoopsThatCountUpArePlain) {
  EXPECT_THAT(By(kPlain, Body("int i, j; for (i = 0; i < n; i++) for (j = 0; m > j; j += 1) b[i] "
                              "+= a[j]; for (i = 0; i != n; i = i + 1) b[i]++;")),
              HasSubstr("for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) b[i] += a[j]; for "
                        "(int i = 0; i < n; i++) b[i]++;"));
  EXPECT_THAT(By(kPlain, Body("for (int i = 1; i + m < n; i++) { b[i] = a[i + m]; }")),
              HasSubstr("for (int i = 1; i < n - m; i++) {"));
  EXPECT_THAT(By(kPlain, Body("for (int i = 1; n - 1 >= 2 + i - m; i++) { b[i] = a[i]; }")),
              HasSubstr("for (int i = 1; i <= n - 1 - 2 + m; i++) {"));
  EXPECT_THAT(By(kPlain, Body("int i = 0; while (i < n) { b[i] = a[i]; ++i; }")),
              HasSubstr("{ for (int i = 0; i < n; i++) { b[i] = a[i]; } return 0; }"));
  for (const char* body :
       {"for (int i = 0; i < n; i++) { b[i] = a[i]; }",
        "int i; for (i = 0; i < n; i++) { if (a[i] == m) break; } b[0] = i;",
        "int i = 0; while (i < n) { b[i] = a[i]; ++i; } b[0] = i;",
        "int i = 0; while (i < n) { if (a[i] == 0) continue; b[i] = a[i]; ++i; }",
        "int i = 0; while (i < n) { if (a[i] == 0) i++; b[i] = a[i]; ++i; }",
        "int i; int* p = &i; for (i = 0; i < n; i++) b[i] = *p;",
        "for (int i = 0; i < n; i += 2) b[i] = a[i];",
        "for (int i = 0; 2 * i < n; i++) b[i] = a[i];",
        "for (int i = 0; m - i < n; i++) b[i] = a[i];",
        "for (unsigned i = 0; i + 2u < 9u; i++) b[i] = a[i];"})
    EXPECT_FALSE(Fits(kPlain, Body(body))) << body;
  // Then other rules see them.
  EXPECT_THAT(Rules(Body("int i, j, s; for (i = 0; i < n; i++) { s = 0; for (j = 0; j < m; j++) s "
                         "+= a[i * m + j]; b[i] = s; }")),
              Contains("plain loops, then 8 accumulators"));
}

TEST_F(RewriteTest, ALoopThatCountsDownCountsUp) {
  const std::string rule = "counted up";
  EXPECT_THAT(By(rule, Body("for (int i = n - 1; i >= 0; i--) { b[i] = a[i]; }")),
              HasSubstr("for (int i = 0; i <= n - 1; i++) { b[i] = a[i]; }"));
  EXPECT_THAT(By(rule, Body("int i = n; while (i > m) { b[i] = a[i]; i--; }")),
              HasSubstr("for (int i = (m) + 1; i <= n; i++) { b[i] = a[i]; }"));
  EXPECT_THAT(By(rule, Body("for (int i = 3u * n - 1; i > n >> 1; i--) { b[i] = a[i]; }")),
              HasSubstr("for (int i = (n >> 1) + 1; i <= (int)(3u * n - 1); i++) {"));
  EXPECT_THAT(By(rule, Body("int i; i = n - m; while (i-- > 0) { b[i] = a[i]; }")),
              HasSubstr("{ int i; for (int i = 0; i < n - m; i++) { b[i] = a[i]; } return 0; }"));
  EXPECT_THAT(By(rule, Body("for (unsigned i = n; i--;) { b[i] = a[i]; }")),
              HasSubstr("for (unsigned int i = 0; i < (unsigned int)(n); i++) { b[i] = a[i]; }"));
  for (const char* body :
       {"int i = n; while (i-- > 0) { b[i] = a[i]; } b[0] = i;",
        "int i = a[0]; while (i-- > 0) b[i] += 1;", "static int i = n; while (i-- > 0) b[i] = 1;",
        "int i = n; for (i = i + 1; i-- > 0;) b[i] = a[i];",
        "unsigned char i = n; while (i-- > 0) b[i] = a[i];",
        "int i = n; while (i-- > 0) { if (a[i] > 0) i--; b[i] = a[i]; }",
        "int i = n; b[0] = 1; while (i-- > 0) b[i] = a[i];",
        "int i = n; while (i-- > m) b[i] = a[i];", "while (n-- > 0) b[n] = a[n];",
        "int i = n; while (i-- > 0) { if (a[i] > 0) break; b[i] = a[i]; }",
        "for (int i = n - 1; i >= 0; i--) { if (a[i] > 0) return i; }"})
    EXPECT_FALSE(Fits(rule, Body(body))) << body;
  for (const char* body : {"for (int i = n - 1; i < m; i--) { b[i] = a[i]; }",
                           "for (int i = n; i > 0; i -= 2) { b[i] = a[i]; }"})
    EXPECT_FALSE(Fits(rule, Body(body))) << body;
}

}  // namespace
}  // namespace whetstone
