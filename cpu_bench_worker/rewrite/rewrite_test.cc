#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(RewriteTest, LoopsAreExchangedWhereTheInnerOneDoesNotNeedTheOuter) {
  EXPECT_THAT(
      By("exchanged loops",
         "void f(float* a, int n, int m) { for (int i = 0; i < n; i++) for (int j = 1; j <= m; "
         "j++) a[i * m + j] = 0; }"),
      HasSubstr(
          "for (int j = 1; j <= m; j++) { for (int i = 0; i < n; i++) { a[i * m + j] = 0; } }"));
  EXPECT_THAT(
      Rules("void f(float* a, int n) { for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) "
            "a[i * n + j] = 0; }"),
      Not(Contains("exchanged loops")));
}

constexpr char kColumns[] =
    "void f(const float* a, float* out, int rows, int cols) { for (int j = 0; j < cols; j++) { "
    "float "
    "most = a[j]; for (int i = 1; i < rows; i++) { if (a[i * cols + j] > most) { most = a[i * cols "
    "+ "
    "j]; } } out[j] = most; } }";

TEST_F(RewriteTest, TurnsRunSideBySideWithAnArrayForTheirVariables) {
  EXPECT_THAT(
      By("16 turns side by side", kColumns),
      HasSubstr("for (int start = 0; start < cols; start += 16) { const int stop = start + 16 < "
                "cols ? start + 16 : cols; float most[16]; for (int j = start; j < stop; j++) { "
                "most[j - start] = a[j]; } for (int i = 1; i < rows; i++) { for (int j = start; j "
                "< stop; j++) { if (a[i * cols + j] > most[j - start]) {"));
  EXPECT_THAT(
      By("4 turns in a group", kColumns),
      HasSubstr("int j = 0; for (; j + 4 <= cols; j += 4) { float most[4]; for (int q = 0; q < 4; "
                "q++) { most[q] = a[j + q]; } for (int i = 1; i < rows; i++) { for (int q = 0; q < "
                "4; q++) { if (a[i * cols + j + q] > most[q]) { most[q] = a[i * cols + j + q]; } } "
                "} for (int q = 0; q < 4; q++) { out[j + q] = most[q]; } } for (; j < cols; j++) "
                "{ float most = a[j];"));
  EXPECT_THAT(
      By("all turns side by side",
         "void f(const float* x, const int* k, float* s, int n) { for (int g = 0; g < 32; g++) { "
         "float sum = 0; for (int i = 0; i < n; i++) { if (k[i] == g) sum += x[i]; } s[g] = sum; } "
         "}"),
      HasSubstr(
          "float sum[32]; for (int g = 0; g < 32; g++) { sum[g] = 0; } for (int i = 0; i < n; "
          "i++) { for (int g = 0; g < 32; g++) { if (k[i] == g) sum[g] += x[i]; } }"));
}

TEST_F(RewriteTest, TurnsRunSideBySideThroughSeveralLoops) {
  const std::string made = By(
      "4 turns in a group",
      "void f(const float* a, float* out, int rows, int cols) { for (int j = 0; j < cols; j++) { "
      "float sum = 0; for (int i = 0; i < rows; i++) { sum += a[i * cols + j]; } float m = sum / "
      "rows; float var = 0; for (int i = 0; i < rows; i++) { float d = a[i * cols + j] - m; var += "
      "d * d; } out[j] = var; } }");
  EXPECT_THAT(made, HasSubstr("float sum[4]; float m[4]; float var[4]; for (int q = 0; q < 4; q++) "
                              "{ sum[q] = 0; } for (int i = 0; i < rows; i++) { for (int q = 0; q "
                              "< 4; q++) { sum[q] += a[i * cols + j + q]; } } for (int q = 0; q < "
                              "4; q++) { m[q] = sum[q] / rows; var[q] = 0; } for (int i = 0; i < "
                              "rows; i++) { for (int q = 0; q < 4; q++) { float d = a[i * cols + j "
                              "+ q] - m[q]; var[q] += d * d; } } for (int q = 0; q < 4; q++) { "
                              "out[j + q] = var[q]; } }"));
}

TEST_F(RewriteTest, ALoopWhoseEndDiffersFromTurnToTurnIsLeftAlone) {
  EXPECT_THAT(
      Rules("void f(const float* a, const int* end, float* b, int n) { for (int i = 0; i < n; i++) "
            "{ float s = 0; for (int j = 0; j < n; j++) { s += a[j]; } const int to = end[i]; for "
            "(int j = 0; j < to; j++) { s -= a[j]; } b[i] = s; } }"),
      Not(Contains("16 turns side by side")));
}

TEST_F(RewriteTest, TurnsThatEndBeforeALoopAreLeftAlone) {
  const std::string begin =
      "void f(const float* a, float* b, int n) { for (int i = 0; i < n; i++) { float s = 0; for "
      "(int j = 0; j < n; j++) { s += a[j]; } ";
  EXPECT_THAT(Rules(begin + "if (s == 0) continue; float m = 0; for (int j = 0; j < n; j++) { m += "
                            "a[j] / s; } b[i] = m; } }"),
              Not(Contains("16 turns side by side")));
  EXPECT_THAT(Rules(begin + "if (s == 0) continue; b[i] = 1 / s; } }"),
              Contains("16 turns side by side"));
}

TEST_F(RewriteTest, TurnsThatNeedEachOtherAreLeftAlone) {
  EXPECT_THAT(
      Rules("void f(const float* a, float* b, int n) { int at = 0; for (int i = 0; i < n; i++) { "
            "float s = 0; for (int j = 0; j < n; j++) { s += a[at]; at++; } b[i] = s; } }"),
      Not(Contains("16 turns side by side")));
}

TEST_F(RewriteTest, AccumulatorsOfSumsAndExtremes) {
  EXPECT_THAT(
      By("8 accumulators",
         "float f(const float* a, int n) { float sum = 0; for (int i = 0; i < n; i++) { sum += "
         "a[i] * a[n - i - 1]; } return sum; }"),
      HasSubstr(
          "float part[8] = {}; int i = 0; for (; i + 8 <= n; i += 8) { for (int q = 0; q < 8; "
          "q++) { part[q] += a[i + q] * a[n - (i + q) - 1]; } } for (; i < n; i++) { sum += a[i] "
          "* a[n - i - 1]; } for (int q = 0; q < 8; q++) { sum += part[q]; } return sum;"));
  EXPECT_THAT(
      By("8 accumulators",
         "int f(const int* a, int n) { int least = a[0]; for (int i = 1; i < n; ++i) if (a[i] < "
         "least) least = a[i]; return least; }"),
      HasSubstr(
          "for (int q = 0; q < 8; q++) { part[q] = least; } int i = 1; for (; i + 8 <= n; i += "
          "8) { for (int q = 0; q < 8; q++) { part[q] = a[i + q] < part[q] ? a[i + q] : part[q]; "
          "} }"));
}

TEST_F(RewriteTest, PartsAreJoinedByTheirOwnOperator) {
  EXPECT_THAT(By("8 accumulators",
                 "unsigned f(const unsigned* a, int n) { unsigned x = 1; for (int i = 0; i < n; "
                 "i++) x ^= a[i]; "
                 "return x; }"),
              HasSubstr("unsigned int part[8] = {};"));
  EXPECT_THAT(By("8 accumulators",
                 "unsigned f(const unsigned* a, int n) { unsigned x = 1; for (int i = 0; i < n; "
                 "i++) x ^= a[i]; "
                 "return x; }"),
              HasSubstr("{ x ^= part[q]; }"));
  const std::string any = By("8 accumulators",
                             "bool f(const int* a, int n) { bool any = false; for (int i = 0; i < "
                             "n; i++) any |= a[i] < 0; return "
                             "any; }");
  EXPECT_THAT(any, HasSubstr("bool part[8] = {};"));
  EXPECT_THAT(any, HasSubstr("any |= part[q];"));
  EXPECT_THAT(Rules("unsigned f(const unsigned* a, int n) { unsigned x = 1; for (int i = 0; i < n; "
                    "i++) { x ^= "
                    "a[i]; x += a[i]; } return x; }"),
              Not(Contains("8 accumulators")));
}

TEST_F(RewriteTest, WhatIsReadOtherwiseIsNoAccumulator) {
  EXPECT_THAT(
      Rules(
          "int f(const int* a, int* b, int n) { int sum = 0; for (int i = 0; i < n; i++) { sum += "
          "a[i]; b[i] = sum; } return sum; }"),
      Not(Contains("8 accumulators")));
  EXPECT_THAT(
      Rules("int f(const int* a, int n) { int sum = 0, last = 0; for (int i = 0; i < n; i++) { sum "
            "+= last; last = a[i]; } return sum; }"),
      Not(Contains("8 accumulators")));
  EXPECT_THAT(
      Rules("int f(const int* a, int n) { int most = 0; for (int i = 0; i < n; i++) { if (a[i] > "
            "most) { most = a[i] + 1; } } return most; }"),
      Not(Contains("8 accumulators")));
}

TEST_F(RewriteTest, AnElementIsKeptInAVariableAndACounterComputed) {
  const char* source =
      "void f(const float* a, const float* b, float* c, int n) { int at = 0; for (int i = 0; i < "
      "n; i++) { "
      "c[i] = 0; for (int j = 0; j < n; j++) { c[i] += a[at] * b[j]; at++; } } }";
  EXPECT_THAT(
      By("kept in a variable", source),
      HasSubstr(
          "{ float sum = 0; for (int j = 0; j < n; j++) { sum += a[at] * b[j]; at++; } c[i] = "
          "sum; }"));
  EXPECT_THAT(By("counted from the counter", source),
              HasSubstr("for (int j = 0; j < n; j++) { c[i] += a[at + j] * b[j]; } at += n;"));
}

TEST_F(RewriteTest, GuardsBecomeBoundsOrLeaveTheInterior) {
  const char* source =
      "void f(const float* a, float* b, int n) { for (int i = 0; i < n; i++) { float s = 0; for "
      "(int k = i - "
      "2; k <= i + 2; k++) { if (k >= 0 && k < n && a[k] > 0) { s += a[k]; } } b[i] = s; } }";
  EXPECT_THAT(
      By("clipped bounds", source),
      HasSubstr(
          "for (int k = (i - 2) > 0 ? (i - 2) : 0; k <= ((i + 2) < (n - 1) ? (i + 2) : (n - 1)); "
          "k++) { if (a[k] > 0) {"));
  EXPECT_THAT(
      By("interior without a guard", source),
      HasSubstr(
          "if (i - 2 >= 0 && i + 2 < n) { for (int k = i - 2; k <= i + 2; k++) { if (a[k] > 0) { "
          "s += a[k]; } } } else {"));
}

TEST_F(RewriteTest, TurnsStandInTheLastOfLoopsInLoopsToo) {
  EXPECT_THAT(
      By("64 turns side by side, innermost",
         "void f(const float* a, float* b, int n) { for (int i = 0; i < n; i++) { float s = 0; for "
         "(int k = 0; k < n; k++) { for (int m = 0; m < 3; m++) { s += a[k + m + i]; } } b[i] = s; "
         "} }"),
      HasSubstr("for (int k = 0; k < n; k++) { for (int m = 0; m < 3; m++) { for (int i = start; i "
                "< stop; i++) { s[i - start] += a[k + m + i]; } } }"));
}

TEST_F(RewriteTest, BoundsAreClippedByEachGuard) {
  EXPECT_THAT(
      By("clipped bounds",
         "void f(const int* a, int* b, int n, int m) { for (int i = 0; i < n; i++) { if (i "
         "<= m && i < 2 * m) { b[i] = a[i]; } } }"),
      HasSubstr(
          "i < ((n < (m + 1) ? n : (m + 1)) < (2 * m) ? (n < (m + 1) ? n : (m + 1)) : (2 * m));"));
  EXPECT_THAT(Rules("void f(const int* a, int* b, unsigned n, unsigned m) { for (unsigned i = 0; i "
                    "< n; i++) { if (i <= m) { b[i] = a[i]; } } }"),
              testing::Not(Contains("clipped bounds")))
      << "m - 1 may be a large number";
}

TEST_F(RewriteTest, CodeOfTemplatesIsLeftAlone) {
  EXPECT_THAT(Rules("template <int N> struct S { static double g(double x); }; template <int N> "
                    "double S<N>::g(double x) { return pow(x, N); } int f(int n) { int s = 0; for "
                    "(int i = 0; i < n; i++) s += i; return s; }"),
              Contains("8 accumulators"));
}

TEST_F(RewriteTest, BoundsOfLoopsWithinAreNotKnownBefore) {
  EXPECT_THAT(Rules("void f(const float* a, float* b, int n) { for (int i = 0; i < n; i++) for "
                    "(int k = i - 2; k "
                    "<= i + 2; k++) if (i > 0 && k >= 0 && k < n) b[k] += a[i]; }"),
              Not(Contains("interior without a guard")));
}

TEST_F(RewriteTest, BranchesBecomeChoices) {
  EXPECT_THAT(By("no branch",
                 "void f(const int* a, int* b, int n) { for (int i = 0; i < n; i++) { if (a[i] > "
                 "0) b[i] += "
                 "a[i]; else b[i] = 0; } }"),
              HasSubstr("b[i] = a[i] > 0 ? b[i] + a[i] : 0;"));
  EXPECT_THAT(
      By("no branch",
         "int f(const int* a, int n) { int most = 0, at = 0; for (int i = 0; i < n; i++) { if "
         "(a[i] > "
         "most) { most = a[i]; at = i; } } return at; }"),
      HasSubstr("const bool take = a[i] > most; most = take ? a[i] : most; at = take ? i : at;"));
}

TEST_F(RewriteTest, SearchesGoStraightToWhatTheyLookFor) {
  EXPECT_THAT(By("straight to the value",
                 "void f(const int* a, int* b, int n) { for (int k = 0; k < 8; k++) { if (a[0] == "
                 "k && n > 3) "
                 "b[k] += 1; } }"),
              HasSubstr("{ const int k = a[0]; if (k >= 0 && k < 8 && n > 3) { b[k] += 1; } }"));
  const char* pairs =
      "int f(const int* a, int limit, int n) { int count = 0; for (int i = 0; i < n; i++) { for "
      "(int j = i + "
      "1; j < n; j++) { if (a[j] - a[i] < limit) count++; } } return count; }";
  EXPECT_THAT(By("ended early", pairs), HasSubstr("if (a[j] - a[i] >= limit) { break; } count++;"));
  EXPECT_THAT(
      By("two pointers", pairs),
      HasSubstr(
          "int end = 0; for (int i = 0; i < n; i++) { if (end < i + 1) { end = i + 1; } while (end "
          "< n && a[end] - a[i] < limit) { end++; } count += end - (i + 1); }"));
}

TEST_F(RewriteTest, KnownIdioms) {
  EXPECT_THAT(
      By("a table of bytes",
         "void f(const unsigned char* in, float* out, float x, int n) { for (int i = 0; i < n; "
         "i++) { "
         "float v = in[i] / 255.0f; out[i] = powf(v, x); } }"),
      HasSubstr(
          "float table[256]; for (int byte = 0; byte < 256; byte++) { float v = byte / 255.0f; "
          "table[byte] = powf(v, x); } for (int i = 0; i < n; i++) { out[i] = table[in[i]]; }"));
  for (const char* bits :
       {"int f(unsigned a) { int c = 0; while (a != 0) { c += (int)(a & 1); a >>= 1; } return c; }",
        "int f(unsigned a) { int c = 0; while (a) { a &= a - 1; c++; } return c; }",
        "int f(unsigned a) { int c = 0; for (int k = 0; k < 32; k++) { if ((a >> k) & 1) c++; } "
        "return c; }"})
    EXPECT_THAT(By("bits counted at once", bits), HasSubstr("c += __builtin_popcount(a);")) << bits;
  EXPECT_THAT(
      By("counted in one step",
         "int f(float x, int n) { int k = 0; while (k < n - 2 && x >= k + 1) k++; return k; }"),
      HasSubstr("k = (int)x; if (k > (n - 2)) { k = (n - 2); }"));
}

TEST_F(RewriteTest, SaysWhyAProgramCannotBeRewritten) {
  EXPECT_THAT(Of("void g(float* a, int n) { for (int i = 0; i < n; i++) a[i] = 0; }"), IsEmpty());
  EXPECT_THAT(refused_, HasSubstr("no function 'f'"));
  EXPECT_THAT(Of("void f(float* a, int n) { not C++ }"), IsEmpty());
  EXPECT_THAT(refused_, HasSubstr("error: "));
  EXPECT_THAT(Of("void f(float* a, int n);"), IsEmpty());
  EXPECT_THAT(refused_, HasSubstr("no function 'f'"));
  EXPECT_THAT(Of("void f(float* a, int n) { a[0] = n; }"), IsEmpty());
  EXPECT_EQ(refused_, "") << "no rule fits";
}

TEST_F(RewriteTest, AnArrayHoldsAllTurnsOfAnInclusiveLoop) {
  EXPECT_THAT(By("all turns side by side",
                 "void f(const float* x, float* s, int n) { for (int g = 0; g <= 31; g++) { float "
                 "sum = 0; for "
                 "(int i = 0; i < n; i++) { sum += x[i] * g; } s[g] = sum; } }"),
              HasSubstr("float sum[31 + 1];"));
}

TEST_F(RewriteTest, TwoLoopsWithOneCounterAreBothRewritten) {
  const std::string source =
      "int f(const int* a, int n) { int s = 0; for (int i = 0; i < n; i++) { s += a[i]; } int t = "
      "0; for (int i "
      "= 0; i < n; i++) { t += a[i] * a[i]; } return s + t; }";
  const std::string first = "part[q] += a[i + q];";
  const std::string second = "parts[lane] += a[i + lane] * a[i + lane];";
  bool both = false;
  for (const Rewrite& once : Of(source)) {
    if (once.source.find(first) == std::string::npos) continue;
    for (const Rewrite& twice : Of(once.source))
      both |= twice.source.find(first) != std::string::npos &&
              twice.source.find(second) != std::string::npos;
  }
  EXPECT_TRUE(both);
  EXPECT_THAT(
      By("no branches",
         "int f(const int* a, int n) { int p = 0, q = 0, r = 0, s = 0; for (int i = 0; i < n; i++) "
         "{ if "
         "(a[i] > p) { p = a[i]; q = i; } if (a[i] < r) { r = a[i]; s = i; } } return q + s; }"),
      HasSubstr("const bool take2 = a[i] < r;"));
}

TEST_F(RewriteTest, UnusualCodeDoesNoHarm) {
  for (const char* body :
       {"if consteval { n = 1; } for (;;) { n--; if (n < 0) break; }",
        "for (int i = 0; i < n; i++);",
        "auto g = [&](auto x) { while (x) { x &= x - 1; n++; } for (int i = 0; i < n; i++) x += i; "
        "}; g(n);",
        "for (int i = 0; i < n; i++) { n += i /* more */ ; }", "if (int k = n) n = k;",
        "do n--; while (n > 0);", "for (int i = 0, j = 1; i < n; i++) a[i] = j;",
        "switch (n) { case 1: n = 2; }", "try { n = 1; } catch (...) {}",
        "for (int i = 0; i < n; i++) { if (i == n) ; }", "int b[2] = {}; for (int& x : b) x += n;",
        "for (int i = 0; i < n; i++) { for (int j = 0; j < 3; j++) n++; }",
        "switch (n) { case 1: if (a[0]) { a[1] = 1; a[2] = 2; } case 2: n = 0; }",
        "for (int i = 0; i < 4; i++) a[i] = 2 * n++;"})
    Of(std::string("int f(int* a, int n) { ") + body + " return n; }");
  EXPECT_THAT(By("8 accumulators",
                 "int f(const int* a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i] /* "
                 "one */ ; "
                 "return s; }"),
              HasSubstr("part[q] += a[i + q] /* one */;"));
}

TEST_F(RewriteTest, MacrosAreNotTakenApart) {
  const std::string loop = "int s = 0; for (int i = 0; i < n; i++) { s += ";
  EXPECT_THAT(
      Of("#define AT(i) a[i]\nint f(const int* a, int n) { " + loop + "AT(i); } return s; }"),
      IsEmpty());
  EXPECT_THAT(By("8 accumulators", "#define MORE (1 + 2)\nint f(const int* a, int n) { " + loop +
                                       "a[i] + MORE; } return s; }"),
              HasSubstr("part[q] += a[i + q] + MORE;"));
}

TEST_F(RewriteTest, WhatStandsBeforeTheBodyStaysAsItIs) {
  const std::string head =
      "struct P { int x; };  // {\nint twice( int a ){ return 2*a; }\nint f(const int* a,\n "
      "     int n)";
  const Rewrites rewrites =
      Of(head + "\n{ int s = 0; for (int i = 0; i < n; i++) s += twice(a[i]); return s; }");
  EXPECT_FALSE(rewrites.empty());
  for (const Rewrite& rewrite : rewrites) {
    const bool hint = rewrite.source.find("#pragma GCC optimize") == 0;
    const size_t begin = hint ? rewrite.source.find('\n') + 1 : 0;
    EXPECT_EQ(rewrite.source.substr(begin, head.size()), head);
  }
}

// A loop whose counter or bound changes within counts otherwise.
TEST_F(RewriteTest, LoopsThatDoNotCountPlainlyGetHintsOnly) {
  for (const char* loop : {"for (int i = 0; i < n; i++) { s += a[i]; i++; }",
                           "for (int i = 0; i < n; i++) { s += a[i]; n--; }",
                           "for (int i = 0; i < n; i += 2) { s += a[i]; }",
                           "for (int i = n; i > 0; i -= 2) { s += a[i]; }"})
    EXPECT_THAT(
        Rules(std::string("int f(const int* a, int n) { int s = 0; ") + loop + " return s; }"),
        ElementsAre("8 turns by a pragma", "unrolled loops", "optimized less"))
        << loop;
}

TEST_F(RewriteTest, WhatAFormMakesPossibleIsProposedWithIt) {
  const std::vector<std::string> rules = Rules(
      "void f(const float* a, float* out, int n) { for (int i = 0; i < n; i++) { float most = "
      "a[i]; "
      "for (int j = i; j < i + 64; j++) { if (a[j] > most) most = a[j]; } out[i] = most; } }");
  EXPECT_THAT(rules, Contains("counted from 0"));
  EXPECT_THAT(rules, Contains("counted from 0, then 64 turns side by side"));
  EXPECT_THAT(rules, Not(Contains("counted from 0, then no branch"))) << "it fits without";
}

TEST_F(RewriteTest, TurnsSideBySideHaveIntsForBools) {
  EXPECT_THAT(
      By("64 turns side by side",
         "void f(const float* a, const float* b, int* out, int n, int m) { for (int i = 0; i "
         "< n; i++) { bool in = false; for (int j = 0; j < m; j++) { in = a[i] < b[j] ? !in "
         ": in; } out[i] = in; } }"),
      HasSubstr("int in[64];"));
  EXPECT_THAT(
      By("64 turns side by side",
         "void f(const int* a, const int* b, int* out, int n, int m) { for (int i = 0; i < n; "
         "i++) { bool in = false; for (int j = 0; j < m; j++) { in = a[i] & b[j]; } out[i] = "
         "in; } }"),
      HasSubstr("bool in[64];"))
      << "what is no bool becomes one";
}

TEST_F(RewriteTest, FormsThatMakeEachOtherPossibleComeInARow) {
  const std::vector<std::string> rules = Rules(
      "#include <math.h>\nvoid f(const double* a, double* b, int n, int m) { int i, j; double "
      "v; i = 0; while (i < n) { j = 0; while (j < m) { v = cos(a[j]); b[i * m + j] = v * i; "
      "j++; } i++; } }");
  EXPECT_THAT(rules, testing::Contains(
                         "declared where set, then plain loops, then computed once for each"));
}

TEST_F(RewriteTest, WhatSavesWorkComesFirst) {
  const std::vector<std::string> rules = Rules(
      "#include <math.h>\nvoid f(const double* a, double* b, int n, int m) { for (int i = 0; "
      "i < n; i++) for (int j = 0; j < m; j++) b[i * m + j] = cos(a[j]) * i; }");
  ASSERT_FALSE(rules.empty());
  EXPECT_EQ(rules[0], "computed once for each");
}

}  // namespace
}  // namespace whetstone
