// Rules of searches, counting branches and floating point, and of what a function is written with.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST_F(RewriteTest, TheBestOnesValueIsKept) {
  const std::string rule = "the best one's value kept";
  EXPECT_THAT(By(rule,
                 "int f(const float* a, float x, int n) { int best = 0; for (int i = 1; i < n; "
                 "i++) { if (fabsf(a[i] - x) < fabsf(a[best] - x)) best = i; } return best; }"),
              HasSubstr("float best_value = fabsf(a[best] - x); for (int i = 1; i < n; i++) { "
                        "const float value = fabsf(a[i] - x); if (value < best_value) { "
                        "best_value = value; best = i; } }"));
  EXPECT_THAT(By(rule,
                 "int f(const int* a, int n) { int top = 0; for (int i = 0; i < n; i++) { if "
                 "(a[top] <= a[i]) { top = i; } } return top; }"),
              HasSubstr("if (best_value <= value) { best_value = value; top = i; }"));
  EXPECT_EQ(By(rule,
               "int f(const int* a, int n) { int best = -1; for (int i = 0; i < n; i++) { if (best "
               "< 0) { best = i; continue; } if (a[i] < a[best]) best = i; } return best; }"),
            "")
      << "there may be no best one yet";
  for (const char* condition : {"a[i] < a[best] + 1", "a[i] < a[i - 1]", "a[i] == a[best]"})
    EXPECT_EQ(By(rule, std::string("int f(const int* a, int n) { int best = 0; for (int i = 1; i < "
                                   "n; i++) { if (") +
                           condition + ") best = i; } return best; }"),
              "")
        << condition;
}

TEST_F(RewriteTest, OfWhatIsSortedOnlyTheElementReadIsPlaced) {
  const std::string rule = "only the one that is read put in order";
  EXPECT_THAT(By(rule,
                 "float f(float* v, int n) { std::sort(v, v + n); return v[n / 2]; "
                 "}"),
              HasSubstr("{ std::nth_element(v, v + (n / 2), v + n); return v[n / 2]; }"));
  EXPECT_EQ(By(rule,
               "float f(float* v, int n) { std::sort(v, v + n); return v[n / 2] + "
               "v[0]; }"),
            "")
      << "two places";
  EXPECT_EQ(By(rule,
               "float g(float*); float f(float* v, int n) { std::sort(v, v + n); "
               "return v[0] + g(v); }"),
            "")
      << "what else is read is not known";
  EXPECT_EQ(By(rule,
               "float f(float* v, int n) { std::sort(v, v + n); const int mid = n / "
               "2; return v[mid]; }"),
            "")
      << "the place is not known yet";
  EXPECT_EQ(By(rule,
               "float f(float* v, int n) { std::sort(v + 1, v + n); return v[n / "
               "2]; }"),
            "")
      << "it does not sort from the beginning";
}

TEST_F(RewriteTest, ChainsThatOnlyCountHaveNoBranches) {
  const std::string rule = "counted without branches";
  EXPECT_THAT(
      By(rule,
         "int f(const int* a, int n) { long long low = 0, high = 0; for (int i = 0; i < n; i++) { "
         "if (a[i] == 7) { continue; } else if (a[i] < 0) { low++; } else { high++; } } return "
         "low - high; }"),
      HasSubstr("int low_here = 0; int high_here = 0; for (int i = 0; i < n; i++) { const bool "
                "holds1 = a[i] == 7; const bool holds2 = a[i] < 0; low_here += !holds1 & holds2; "
                "high_here += !holds1 & !holds2; } low += low_here; high += high_here;"));
  EXPECT_EQ(By(rule,
               "int f(int* a, int n) { int low = 0; for (int i = 0; i < n; i++) { if (a[i] < 0) { "
               "low++; } else { a[i] = 0; } } return low; }"),
            "")
      << "it does not only count";
}

TEST_F(RewriteTest, ACountedConditionIsLookedAtAsAWhole) {
  EXPECT_THAT(By("counted without branches",
                 "int f(const int* a, int n) { int c = 0; for (int i = 0; i < n; i++) { if (a[i] > "
                 "3 && (a[i] < 7 || a[i] & 8)) c++; } return c; }"),
              HasSubstr("const bool holds1 = (a[i] > 3) & ((a[i] < 7) | ((a[i] & 8) != 0)); c_here "
                        "+= holds1;"));
}

TEST_F(RewriteTest, ConditionsThatNeedOthersKeepTheirOrder) {
  const auto counted = [](const std::string& condition) {
    return By("counted without branches",
              "int f(const int* a, const int* b, int n) { int c = 0; for (int i = 0; i < n; i++) { "
              "if (" +
                  condition + ") c++; } return c; }");
  };
  for (const char* condition :
       {"i > 0 && a[i - 1] < a[i]", "i < 5 && a[i] > 3", "b[i] != 0 && a[i] % b[i] == 1",
        "a[i] > 2 && abs(a[i]) < 9", "a[i] > c && a[i] < 7"})
    EXPECT_EQ(counted(condition), "") << condition;
  EXPECT_NE(counted("a[i] > 2 && b[i] < 9"), "");
  EXPECT_NE(counted("a[i - 1] > 2 && a[i - 1] < 9"), "");
}

TEST_F(RewriteTest, GuardsCompareCounters) {
  const std::string rule = "guards by counters";
  const std::string head =
      "int f(const int* a, int n, int y) { int s = 0; for (int d = -2; d <= 2; d++) { ";
  EXPECT_THAT(By(rule, head + "int yy = y + d; if (yy < 0 || yy >= n) { continue; } s += a[yy]; } "
                              "return s; }"),
              HasSubstr("for (int d = -2; d <= 2; d++) { if (d >= -y && d < n - y) { int yy = y + "
                        "d; s += a[yy]; } }"));
  EXPECT_THAT(By(rule, head + "const int k = 1 - d; const int yy = y + k; if (0 <= yy && n > yy) s "
                              "+= a[yy]; } return s; }"),
              HasSubstr("if (d <= y + 1 && d > y + 1 - n) { const int k = 1 - d;"));
  EXPECT_EQ(By(rule, head + "int yy = y * d; if (yy < n) s += a[yy]; } return s; }"), "")
      << "the counter is multiplied";
  EXPECT_EQ(By(rule, head + "int yy = y + d; if (yy < (unsigned)n) { s += a[yy]; } } return s; }"),
            "")
      << "a number without a sign";
  EXPECT_EQ(By(rule, head + "int y = y + d; if (y < n) { s += a[y]; } } return s; }"), "")
      << "it names itself";
  EXPECT_EQ(By(rule, head + "int yy = y + d; if (yy < n) { s += a[yy]; } s++; } return s; }"), "")
      << "a part of the turn has no condition";
}

TEST_F(RewriteTest, SearchesGoOnToTheEnd) {
  const std::string rule = "searched to the end";
  const std::string head = "bool f(const int* a, int n, int x) { bool found = false; ";
  const std::string all =
      "for (int i = 0; i < n; i++) { matches += (a[i] == x) ? 1 : 0; } if "
      "(matches != 0) { ";
  EXPECT_THAT(By(rule, head + "for (int i = 0; i < n && !found; i++) { if (a[i] == x) { found = "
                              "true; } } return found; }"),
              HasSubstr(all + "found = true; } return found;"));
  EXPECT_THAT(By(rule, head + "for (int i = 0; i < n; i++) { if (a[i] == x) { found = true; break; "
                              "} } return found; }"),
              HasSubstr(all + "found = true; } return found;"));
  EXPECT_THAT(By(rule, head + "for (int i = 0; i < n; i++) if (a[i] == x) return true; return "
                              "found; }"),
              HasSubstr(all + "return true; }"));
  EXPECT_EQ(By(rule,
               "int f(const int* a, int n, int x) { for (int i = 0; i < n; i++) if (a[i] == "
               "x) return i; return -1; }"),
            "")
      << "which one it was is asked for";
  EXPECT_EQ(By(rule, head + "for (int i = 0; !found; i++) { if (a[i] == x) { found = true; } } "
                            "return found; }"),
            "")
      << "it has no other end";
  EXPECT_THAT(Rules(head + "for (int k = 0; k < n; k++) { for (int i = 0; i < n && !found; i++) if "
                           "(a[i] == x) found = true; for (int i = 0; i < k; i++) if (a[i] == k) "
                           "return true; } return found; }"),
              Contains("all searched to the end"));
}

TEST_F(RewriteTest, ASearchWithoutAnEndDoesNotGoOn) {
  const auto made = [](const std::string& head) {
    return By("searched to the end",
              "bool f(const int* a, int n, int x) { bool found = false; for (" + head +
                  ") { if (a[i] == x) { found = true; break; } } return found; }");
  };
  EXPECT_NE(made("int i = 0; i < n; i++"), "");
  EXPECT_EQ(made("int i = 0; true; i++"), "");
  EXPECT_EQ(made("int i = 0; n > 0; i++"), "") << "it does not change";
  EXPECT_EQ(By("searched to the end",
               "bool f(const int* a, int n, int x) { for (int i = 0; 1; i++) if (a[i] == x) return "
               "true; return false; }"),
            "");
  EXPECT_EQ(By("searched to the end",
               "bool f(const int* a, int n, int x) { bool found = false; for (int i = 0; true && "
               "!found; i++) if (a[i] == x) found = true; return found; }"),
            "");
}

TEST_F(RewriteTest, JumpsPastASearchArePossible) {
  const std::string head =
      "int f(const int* a, int n, int x) { int best = 0; switch (x) { case 1: "
      "n--; for (int i = 0; i < n; i++) { ";
  const std::string tail = " } break; default: best = 2; } return best; }";
  EXPECT_THAT(By("searched to the end", head + "if (a[i] == x) { best = 1; break; }" + tail),
              HasSubstr("n--; { int matches = 0; for (int i = 0; i < n; i++) { matches += (a[i] == "
                        "x) ? 1 : 0; } if (matches != 0) { best = 1; } } break; default:"));
  EXPECT_THAT(By("the best one's value kept", head + "if (a[i] < a[best]) best = i;" + tail),
              HasSubstr("n--; { int best_value = a[best]; for"));
  EXPECT_THAT(By("searched to the end",
                 "int f(const int* a, int n, int x) { if (x < 0) goto end; for (int i = 0; i < n; "
                 "i++) if (a[i] == x) return 1; end: return 0; }"),
              HasSubstr("goto end; { int matches = 0;"));
}

TEST_F(RewriteTest, WhatASearchAsksForHasNoState) {
  const auto made = [](const std::string& helper) {
    return By("searched to the end",
              "namespace std { struct vector { int& operator[](int); }; struct map { int& "
              "operator[](int); int& operator[](int) const; }; } " +
                  helper +
                  " bool f(const int* a, std::vector& v, std::map& m, int n) { for (int i = 0; i < "
                  "n; i++) { if (a[i] == g(v, m, i)) return true; } return false; }");
  };
  const std::string head = "static int g(std::vector& v, ";
  EXPECT_NE(made(head + "std::map& m, int i) { return v[i]; }"), "");
  EXPECT_NE(made(head + "const std::map& m, int i) { return m[i]; }"), "");
  EXPECT_EQ(made(head + "std::map& m, int i) { return m[i]; }"), "") << "it inserts";
  EXPECT_EQ(made(head + "std::map& m, int i) { static int s = 1; return s ^ i; }"), "");
  EXPECT_EQ(made("static int s = 1; " + head + "std::map& m, int i) { return s ^ i; }"), "");
  EXPECT_NE(made("static const int s = 1; " + head + "std::map& m, int i) { return s ^ i; }"), "");
}

TEST_F(RewriteTest, OfTwoElementsThePlaceIsChosen) {
  const std::string rule = "the place chosen";
  const std::string head = "void f(int* c, int* d, int a, int b) { ";
  EXPECT_THAT(By(rule, head + "if (a < b) { c[a]++; } else { c[b + 1]++; } }"),
              HasSubstr("{ c[(a < b) ? a : (b + 1)]++; }"));
  EXPECT_THAT(By(rule, head + "if (a) c[a] += d[b]; else c[0] += d[b]; }"),
              HasSubstr("c[a ? a : 0] += d[b];"));
  for (const char* branches : {"c[a]++; else d[b]++;", "c[a]++; else c[b]--;",
                               "c[a] += a; else "
                               "c[b] += b;",
                               "c[a]++;"})
    EXPECT_EQ(By(rule, head + "if (a < b) " + branches + " }"), "") << branches;
}

TEST_F(RewriteTest, WhatAFunctionIsWrittenWithIsRewrittenToo) {
  EXPECT_THAT(By("8 accumulators",
                 "static int sum(const int* a, int n) { int s = 0; for (int i = 0; i < n; i++) s "
                 "+= a[i]; return s; } int f(const int* a, int n) { return sum(a, n) + 1; }"),
              HasSubstr("int part[8] = {};"));
  Of("#define TWICE(x) ((x) + (x))\nstatic int g(int a) { return TWICE(a); } int f(int a) { return "
     "g(a); }");
  EXPECT_EQ(refused_, "") << "only the macro's function is left alone";
}

}  // namespace
}  // namespace whetstone
