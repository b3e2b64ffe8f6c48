// Rules that give loops and guards the form that other rules look for.
#include <string>
#include <utility>
#include <vector>

#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST_F(RewriteTest, AWindowIsCountedFromZero) {
  const std::string rule = "counted from 0";
  const auto window = [](const std::string& head) {
    return "void f(const float* a, float* out, int n, int r) { for (int i = 0; i < n; i++) { float "
           "s "
           "= a[i]; for (" +
           head + ") { s = s < a[j] ? a[j] : s; } out[i] = s; } }";
  };
  EXPECT_THAT(By(rule, window("int j = i; j < i + 64; ++j")),
              HasSubstr("for (int w = 0; w < 64; w++) { s = s < a[i + w] ? a[i + w] : s; }"));
  EXPECT_THAT(By(rule, window("int j = i - r; j <= i + r; ++j")),
              HasSubstr("for (int w = 0; w < r + r + 1; w++) { s = s < a[i - r + w]"));
  EXPECT_THAT(By(rule, window("int j = i + 1; j < r + i; ++j")),
              HasSubstr("for (int w = 0; w < r - 1; w++) {"));
  for (const char* head : {"int j = i; j < n; ++j", "int j = 0; j < i + 4; ++j",
                           "int j = i; j < 2 * i; ++j", "int j = i; j < i; ++j"})
    EXPECT_EQ(By(rule, window(head)), "") << head;
  EXPECT_THAT(By(rule, window("int j = i & 3; j < (i & 3) + 8; ++j")), HasSubstr("a[(i & 3) + w]"));
  // Then turns run side by side.
  for (const Rewrite& each : Of(window("int j = i; j < i + 64; ++j"), rule))
    EXPECT_THAT(Rules(each.source), Contains("64 turns side by side"));
}

TEST_F(RewriteTest, AnExpensiveCallHasAVariableOfItsOwn) {
  const std::string rule = "a call in a variable";
  EXPECT_THAT(
      By(rule,
         "float f(const unsigned char* a, int n) { double s = 0; for (int i = 0; i < n; i++) "
         "{ int q = a[i] - 33; if (q < 0) q = 0; s += pow(10.0, -q / 10.0) * sqrt(q); } "
         "return s; }"),
      HasSubstr("const double term = pow(10.0, -q / 10.0); const double term2 = sqrt(q); s "
                "+= term * term2;"));
  for (const char* turn :
       {"s += a[i] > 0 ? sqrt(a[i]) : 0;", "const double r = sqrt(a[i]); s += r;",
        "s += fabs(a[i]);", "s = exp(a[i]);"})
    EXPECT_EQ(By(rule,
                 "double f(const double* a, int n) { double s = 0; for (int i = 0; i < n; "
                 "i++) { " +
                     std::string(turn) + " } return s; }"),
              "")
        << turn;
}

TEST_F(RewriteTest, AWordThatIsShiftedAwayHasATurnForEachBit) {
  const std::string rule = "every bit's turn";
  const auto decoded = [](const std::string& head, const std::string& turn) {
    return "void f(const unsigned* a, unsigned* out, int n) { for (int i = 0; i < n; i++) { "
           "unsigned "
           "b = 0; for (" +
           head + ") " + turn + " out[i] = b; } }";
  };
  const std::string gray = decoded("unsigned g = a[i] >> 1; g != 0; g >>= 1", "b ^= g;");
  EXPECT_THAT(By(rule, gray),
              HasSubstr("for (int bit = 0; bit < 32; bit++) { const unsigned int g = "
                        "(unsigned int)(a[i] >> 1) >> bit; b ^= g; }"));
  EXPECT_THAT(Rules(gray), Contains("every bit's turn, then 64 turns side by side"));
  EXPECT_NE(By(rule, decoded("unsigned long g = b + 1; g; g >>= 1", "{ out[i] += g; }")), "");
  for (const auto& [head, turn] : std::vector<std::pair<std::string, std::string>>{
           {"int g = 5; g != 0; g >>= 1", "b ^= g;"},
           {"unsigned g = a[i]; g != 0; g >>= 2", "b ^= g;"},
           {"unsigned g = a[i]; g > 1; g >>= 1", "b ^= g;"},
           {"unsigned g = b; g != 0; g >>= 1", "b ^= g;"},
           {"unsigned g = a[i]; g != 0; g >>= 1", "{ b ^= g; g--; }"},
           {"unsigned g = a[i]; g != 0; g >>= 1", "{ if (b > 9) break; b ^= g; }"}})
    EXPECT_EQ(By(rule, decoded(head, turn)), "") << head << turn;
}

TEST_F(RewriteTest, AGuardBelowAGuardIsOneWithIt) {
  const std::string rule = "guards joined";
  const auto guarded = [](const std::string& turn) {
    return "int f(const float* a, int* out, int n, int k) { int c = 0; for (int i = 0; i < n; i++) "
           "{ "
           "if (a[i] > 0) { " +
           turn + " } } return c; }";
  };
  EXPECT_THAT(By(rule, guarded("const float x = 1 / a[i]; if (x < 3) c++;")),
              HasSubstr("{ const float x = 1 / a[i]; if ((a[i] > 0) & (x < 3)) { c++; } }"));
  EXPECT_THAT(By(rule, guarded("if (k) { c++; }")),
              HasSubstr("if ((a[i] > 0) & (k ? true : false)) { c++; }"));
  for (const char* turn :
       {"c++; if (a[i] < 3) c++;", "if (a[i] < 3) { break; }", "if (c++ < 3) { out[i] = 1; }",
        "if (a[i] < 3) { c++; } else { c--; }", "int x = c++; if (x < 3) out[i] = x;",
        "if (a[i - 1] < 3) c++;", "const int q = 100 / k; if (q < 3) c++;", "if (*out < 3) c++;"})
    EXPECT_EQ(By(rule, guarded(turn)), "") << turn;
}

TEST_F(RewriteTest, AConditionThatWritesHasAVariableOfItsOwn) {
  const std::string rule = "a condition in a variable";
  const auto put = [](const std::string& turn) {
    return "bool put(const int* a, int k, int* sum) { int s = 0; for (int q = 0; q < k; q++) s += "
           "a[q]; *sum = s; return s > 0; } bool next(int& x) { x++; return x > 9; } bool above("
           "const int* a, const int& i) { return a[i] > 0; } int f(const int* a, int n, int k) { "
           "int c = 0; for (int i = 0; i < n; i++) " +
           turn + " return c; }";
  };
  EXPECT_THAT(By(rule, put("{ int s; if (!put(a + i, k, &s)) continue; c += s; }")),
              HasSubstr("{ int s; const bool holds = !put(a + i, k, &s); if (holds) continue; c += "
                        "s; }"));
  // Several, of which one does what the other one has not done.
  EXPECT_THAT(
      By(rule, put("{ int s; if (i > 3 && next(c)) c = 1; if (put(a, k, &s)) { c += s; } else { "
                   "c--; } }")),
      HasSubstr("{ int s; const bool holds = i > 3 && next(c); if (holds) c = 1; const bool holds2 "
                "= put(a, k, &s); if (holds2) { c += s; } else { c--; } }"));
  // Alone in a loop of any kind, and one in another one's loop, which waits.
  EXPECT_THAT(By(rule, put("if (put(a + i, k, &c)) c++;")),
              HasSubstr("{ const bool holds = put(a + i, k, &c); if (holds) c++; }"));
  EXPECT_THAT(By(rule, put("{ while (n > 0) { n--; if (next(c)) break; } }")),
              HasSubstr("{ n--; const bool holds = next(c); if (holds) break; }"));
  EXPECT_THAT(By(rule, put("{ if (next(c)) { while (n-- > 0) { if (next(n)) break; } } }")),
              HasSubstr("const bool holds = next(c); if (holds) { while (n-- > 0) { if (next(n)) "
                        "break; } }"));
  for (const char* turn :
       {"{ if (above(a, i)) c++; }", "{ if (i > 3) { if (next(c)) c++; } }",
        "{ if (const bool b = next(c)) c++; }", "{ const bool b = next(c); if (b) c++; }",
        "{ if (c++, next(c)) c++; }", "{ c++; } if (next(c)) c++;", "{ while (next(c)) c++; }",
        "{ if (i > 3) c++; else if (next(c)) c--; }"})
    EXPECT_EQ(By(rule, put(turn)), "") << turn;
}

}  // namespace
}  // namespace whetstone
