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
            "float f(float* v, int n) { const int mid = n / 2; std::nth_element(v, v + (mid), v + "
            "n); return v[mid]; }")
      << "it is put in its place where it is read";
  EXPECT_EQ(By(rule, "float f(float* v, int n) { std::sort(v, v + n); n /= 2; return v[n]; }"), "")
      << "it would be another end";
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

TEST_F(RewriteTest, WhatIsBeyondItsLimitIsGivenUp) {
  const std::string rule = "given up early";
  const auto made = [&](const std::string& counted, const std::string& behind) {
    return By(rule,
              "int f(const int* a, const float* x, int n, int k) { int best = 9; int at = 0; "
              "for (int s = 0; s < n; s++) { int c = 0; for (int i = 0; i < k; i++) { " +
                  counted + " } " + behind + " } return at + best; }");
  };
  const std::string head = "for (int i = 0; i < k; i++) { if (a[s + i] != a[i]) ++c; if (";
  EXPECT_THAT(made("if (a[s + i] != a[i]) ++c;", "if (c <= 3) return s;"),
              HasSubstr(head + "c > 3) { break; } } if (c <= 3)"));
  EXPECT_THAT(made("if (a[s + i] != a[i]) ++c;", "at += best > c;"),
              HasSubstr(head + "c >= best) { break; } }"));
  EXPECT_THAT(made("c += abs(a[s + i] - a[i]);", "if (c < best && s > 1) { best = c; at = s; }"),
              HasSubstr("if (c >= best) { break; }"));
  EXPECT_THAT(made("c += a[i] > 2 ? a[i] * a[i] : 0;", "if (c > n) continue; at += c;"),
              HasSubstr("if (c > n) { break; }"));
  const std::string counts = "c += a[i] != 0;";
  EXPECT_NE(made(counts, "if (c == 4) at = s;"), "");
  for (const char* behind :
       {"if (c < best) { best = c; } at = c;", "if (c < best || s == 1) { best = c; }",
        "if (c > 3) { at = c; }", "at += c;", "if (c == 4) continue; at = c;", "",
        "for (int j = 0; j < c; j++) at++;", "const int limit = n / 2; if (c > limit) at = s;",
        "best = s; if (c < best) at = s;", "while (c > at) at++;"})
    EXPECT_EQ(made(counts, behind), "") << behind << ": more is made of what is beyond the limit";
  for (const char* counted :
       {"c += a[i];", "c++; c--;", "c += a[i] != 0; at++;", "if (a[i] > c) c++;", "c += (int)x[i];",
        "out[i] = s; c += a[i] != 0;", "if (next()) c++;"})
    EXPECT_EQ(made(counted, "if (c > 3) at = s;"), "") << counted;
  EXPECT_EQ(By(rule,
               "int f(const int* a, int n) { int c = 0; int m = 0; for (int i = 0; i < n; "
               "i++) { m = i; if (a[i]) c++; } return c > 3; }"),
            "")
      << "something else is counted";
}

TEST_F(RewriteTest, OfABlockEachRowMayBeTheLast) {
  EXPECT_THAT(By("given up early",
                 "int f(const int* a, const int* b, int n) { int best = 99; for (int s = 0; s < n; "
                 "s++) { int sad = 0; for (int y = 0; y < 8; y++) for (int x = 0; x < 8; x++) sad "
                 "+= abs(a[y * 8 + x + s] - b[y * 8 + x]); if (sad < best) best = sad; } return "
                 "best; }"),
              HasSubstr("sad += abs(a[y * 8 + x + s] - b[y * 8 + x]); if (sad >= best) { break; } "
                        "} if (sad < best)"));
}

TEST_F(RewriteTest, TurnsThatFitAreGatheredFirst) {
  const std::string rule = "gathered first";
  const auto made = [&](const std::string& turn, const std::string& counter = "int i = 0; i < n") {
    return By(rule,
              "int f(const int* a, const float* x, int n, int lo, int* out, float* values) { "
              "int m = 0, j = 0; for (" +
                  counter + "; i++) { " + turn + " } return m + j; }");
  };
  EXPECT_THAT(
      made("if (a[i] < lo) continue; if (x[i] > 1.5f && a[i] & 1) out[m++] = a[i];"),
      HasSubstr(
          "for (int from = 0; from < n; from += 256) { const int until = n - from < 256 ? n : "
          "from + 256; int turns[256]; int here = 0; for (int i = from; i < until; i++) { "
          "const bool fits = !(a[i] < lo) & ((x[i] > 1.5f) & ((a[i] & 1) != 0)); turns[here] "
          "= i; here += fits; } for (int k = 0; k < here; k++) { const int i = turns[k]; "
          "out[m++] = a[i]; } }"));
  EXPECT_THAT(made("const float v = x[i] / 3; if (v > 2) { out[m] = a[i]; values[m] = v; ++m; }"),
              HasSubstr("{ const float v = x[i] / 3; const bool fits = (v > 2); turns[here] = i; "
                        "here += fits; } for (int k = 0; k < here; k++) { const int i = turns[k]; "
                        "const float v = x[i] / 3; out[m] = a[i]; values[m] = v; ++m; }"));
  EXPECT_THAT(made("if (a[i] < 0) continue; if (sqrtf(x[i]) > 2) continue; out[m++] = a[i];"),
              HasSubstr("fits = !(a[i] < 0) && !(sqrtf(x[i]) > 2);"))
      << "a call is made only where it was";
  EXPECT_NE(made("if (a[i] < 0) continue; out[m++] = (int)x[j++];"), "");
  for (const char* turn :
       {"out[m++] = a[i];", "if (a[i] > m) out[m++] = a[i];", "if (a[i] < 0) break; out[m++] = 1;",
        "if (a[i]) { out[m++] = a[i]; } else { m += 2; }", "if (a[i] < 0) { values[i] = 0; m++; }",
        "if (a[i]) { out[m++] = a[i]; if (m > 9) break; }", "if (out[i]) out[m++] = a[i];",
        "const int old = j++; if (a[i] > old) out[m++] = a[i];",
        "if (i + 1 >= n) continue; const int d = a[i + 1] - a[i]; if (d > 0) out[m++] = d;",
        "if (!a[i]) continue; for (int c = 0; c < 4; c++) out[c] += a[i * 4 + c];",
        "if (a[i] < 0) continue; if (i >= lo) continue; const int v = a[i]; if (v) out[m++] = v;",
        "if (a[i]) { out[m++] = a[i]; } lo = 2;"})
    EXPECT_EQ(made(turn), "") << turn;
  EXPECT_EQ(made("if (a[i]) out[m++] = i;", "int i = 0; i < n - i"), "");
  EXPECT_EQ(made("if (a[i]) out[m++] = i;", "int i = 0; i < n * 0.3"), "");
  EXPECT_EQ(made("if (a[i]) out[m++] = i;", "unsigned char i = 0; i < 200"), "");
}

TEST_F(RewriteTest, BranchesThatDoDifferentThingsBecomeChoices) {
  EXPECT_THAT(By("no branch",
                 "int f(const int* a, int* b, int n) { int none = 0; for (int i = 0; i < n; i++) { "
                 "if (a[i] > 0) b[i / 8] |= 1; else none++; } return none; }"),
              HasSubstr("const bool take = a[i] > 0; b[i / 8] = take ? b[i / 8] | 1 : b[i / 8]; "
                        "none = take ? none : none + 1;"));
  EXPECT_THAT(
      By("no branch",
         "int f(int x, int n) { int p = 0, q = 0; switch (x) { case 1: n--; if (n) p = 1; "
         "else q = 2; break; default: n++; } return p + q + n; }"),
      HasSubstr("n--; { const bool take = n; p = take ? 1 : p; q = take ? q : 2; } break;"));
  EXPECT_EQ(By("no branch",
               "int f(const int* a, int* lo, int* hi, int n) { int l = 0, h = 0; for (int i = 0; i "
               "< n; i++) { if (a[i] < 5) lo[l++] = a[i]; else hi[h++] = a[i]; } return l; }"),
            "");
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
