// The rule that puts a function in the place of its calls.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kInPlace[] = "a function in its place";

constexpr char kIsDigit[] = "static bool is_digit(char c) { return c >= '0' && c <= '9'; }\n";

constexpr char kApart[] =
    "struct P { double lat; double lon; };\n"
    "static double radians(double d) { return d * 3.14159 / 180; }\n"
    "// The distance between two places.\n"
    "static double apart(P a, P b) { const double dlat = radians(b.lat - a.lat); const double dlon "
    "= radians(b.lon - a.lon); const double h = dlat * dlat + cos(radians(a.lat)) * dlon; return "
    "2 * 6371 * asin(sqrt(h)); }\n";

TEST_F(RewriteTest, AnExpressionStandsInItsCallsPlace) {
  EXPECT_THAT(
      By(kInPlace, std::string(kIsDigit) +
                       "int f(const char* t, int n) { int k = 0; for (int i = 0; i < n; i++) "
                       "{ if (is_digit(t[i])) k += !is_digit('7'); } return k; }"),
      StartsWith("int f(const char* t, int n) { int k = 0; for (int i = 0; i < n; i++) { "
                 "if (t[i] >= '0' && t[i] <= '9') { k += !('7' >= '0' && '7' <= '9'); } } "
                 "return k; }"));
  EXPECT_THAT(
      By(kInPlace, std::string(kIsDigit) +
                       "int f(const char* t) { int k = 0; while (t[k] && is_digit(t[k])) k++; "
                       "if (k > 3) k = 0; else if (is_digit(*t)) k = 1; return k; }"),
      HasSubstr("while (t[k] && (t[k] >= '0' && t[k] <= '9')) k++; if (k > 3) k = 0; else "
                "if ((*t) >= '0' && (*t) <= '9') k = 1;"));
  EXPECT_THAT(By(kInPlace,
                 "static int next(const int* p, int i) { return p[i] + 1; }\nint f(const int* a, "
                 "int n) { return 2 * next(a, n - 1); }"),
              StartsWith("int f(const int* a, int n) { return 2 * (a[(n - 1)] + 1); }"));
}

TEST_F(RewriteTest, NumbersKeepTheirTypes) {
  EXPECT_THAT(By(kInPlace,
                 "static float half(double x) { return x / 2; }\nfloat f(int i) { return half(i) + "
                 "half(i + 1); }"),
              StartsWith("float f(int i) { return (float)((double)i / 2) + (float)((double)(i + 1) "
                         "/ 2); }"));
  EXPECT_THAT(By(kInPlace,
                 "struct P { int x; int y; };\nstatic P at(int x, int y) { return {x, y}; }\nP "
                 "f(int i) { return at(i, 2); }"),
              HasSubstr("return P{i, 2};"));
}

TEST_F(RewriteTest, LocalsAreDeclaredBeforeTheStatement) {
  std::string made;
  for (const Rewrite& each :
       Of(std::string(kApart) +
          "double f(const P* p, int n) { double s = 0; for (int i = 0; i < n; i++) for (int j = 0; "
          "j < n; j++) s += apart(p[i], p[j]); return s; }"))
    if (each.rule == kInPlace) made = each.source;
  EXPECT_EQ(made,
            "struct P { double lat; double lon; };\n"
            "double f(const P* p, int n) {\n"
            "    double s = 0;\n"
            "    for (int i = 0; i < n; i++) {\n"
            "        for (int j = 0; j < n; j++) {\n"
            "            const double dlat = (p[j].lat - p[i].lat) * 3.14159 / 180;\n"
            "            const double dlon = (p[j].lon - p[i].lon) * 3.14159 / 180;\n"
            "            const double h = dlat * dlat + cos(p[i].lat * 3.14159 / 180) * dlon;\n"
            "            s += 2 * 6371 * asin(sqrt(h));\n"
            "        }\n"
            "    }\n"
            "    return s;\n"
            "}")
      << "nobody calls the others any more";
}

TEST_F(RewriteTest, AStructThatIsNotPlainlyGivenIsAVariable) {
  const std::string head =
      "struct P { float x; float y; };\nP g(int);\nstatic float dot(P a, P b) { return a.x * b.x + "
      "a.y * b.y; }\nstatic float turned(P a) { a.x = -a.x; return a.x + a.y; }\n";
  EXPECT_THAT(By(kInPlace, head + "float f(const P* p) { float s = dot(p[0], g(1)); return s; }"),
              HasSubstr("const P b = g(1); float s = p[0].x * b.x + p[0].y * b.y; return s;"));
  EXPECT_THAT(By(kInPlace, head + "float f(const P* p) { return turned(p[0]); }"),
              HasSubstr("P a = p[0]; a.x = -a.x; return a.x + a.y;"));
}

TEST_F(RewriteTest, WhatOneChangesOfItsOwnIsNotItsCallers) {
  EXPECT_THAT(
      By(kInPlace,
         "static double h(const double* p, int i, double s) { double t[2] = {s, 1}; t[1] += "
         "p[i]; s *= t[1]; return s + t[0]; }\ndouble f(const double* a, int n) { double s "
         "= 0; s += h(a, n, s); return s; }"),
      HasSubstr("double s = 0; double s2 = s; double t[2] = {s2, 1}; t[1] += a[n]; s2 *= "
                "t[1]; s += s2 + t[0]; return s;"));
  EXPECT_THAT(By(kInPlace,
                 "static int h(int* p, int x) { p[0] = 2; return x; }\nint f(int* a) { return h(a, "
                 "a[0]); }"),
              HasSubstr("const int x = a[0]; a[0] = 2; return x;"));
}

TEST_F(RewriteTest, WhatIsNamedTwiceIsComputedOnce) {
  const std::string head = "static double square(double x) { return x * x; }\n";
  EXPECT_THAT(By(kInPlace, head + "double f(double a, double b) { return square(sqrt(a) + b); }"),
              StartsWith("double f(double a, double b) { const double x = sqrt(a) + b; return x * "
                         "x; }"));
  EXPECT_THAT(By(kInPlace, head + "double f(double a) { return square(square(a)); }"),
              HasSubstr("const double x = a * a; return x * x;"));
  EXPECT_EQ(
      By(kInPlace, head + "double f(double a) { while (square(a + 1) > 2) a /= 2; return a > 1 "
                          "? square(a - 1) : 0; }"),
      "")
      << "nothing can be declared there";
  EXPECT_THAT(
      By(kInPlace, head + "double f(double a, double b) { if (square(a + b) > 1) return 1; "
                          "else if (square(a - b) > 1) return 2; return 3; }"),
      HasSubstr("const double x = a + b; if ((x * x) > 1) return 1; else if (square(a - b) > "
                "1) return 2;"));
}

TEST_F(RewriteTest, WhatDoublesAgainAndAgainHasAnEnd) {
  std::string chain = "static double h0(double x) { return x + x; }\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "h" + std::to_string(i - 1) + "(x)";
    chain += "static double h" + std::to_string(i) + "(double x) { return " + below + " + " +
             below + "; }\n";
  }
  bool placed = false;
  for (const Rewrite& each : Of(chain + "double f(double a) { return h11(a); }")) {
    placed |= each.source.find("a + a") != std::string::npos;
    EXPECT_LT(each.source.size(), 10000U);
  }
  EXPECT_TRUE(placed);
  // The last one gets a variable, for which there is no room.
  std::string nested = "a";
  for (int i = 0; i < 24; ++i) nested = "h(" + nested + ", a - 1)";
  EXPECT_EQ(By(kInPlace,
               "static double h(double x, double y) { return x + y * y; }\ndouble f(double a) { "
               "while (" +
                   nested + " > 2) a /= 2; return a; }"),
            "");
}

TEST_F(RewriteTest, APartWithANameOfItsOwnIsAVariable) {
  EXPECT_THAT(By(kInPlace,
                 "struct P { int x; int y; };\nstatic int h(P* p, int x) { p->x = 2; return x; }\n"
                 "int f(P* p) { auto& [v, w] = *p; return h(p, v); }"),
              HasSubstr("const int x = v; p->x = 2; return x;"));
}

TEST_F(RewriteTest, OneWithoutAResultStandsInItsStatementsPlace) {
  EXPECT_THAT(By(kInPlace,
                 "static void add(int* bins, int& all, int k) { bins[k]++; all += k; }\nint f(int* "
                 "b, const int* a, int n) { int sum = 0; for (int i = 0; i < n; i++) add(b, sum, "
                 "a[i]); return sum; }"),
              HasSubstr("for (int i = 0; i < n; i++) { const int k = a[i]; b[k]++; sum += k; } "
                        "return sum;"));
}

TEST_F(RewriteTest, OneWithLoopsAndBranchesStandsBeforeItsStatement) {
  EXPECT_THAT(
      By(kInPlace,
         "static float peak(const float* x, int n, int from, int look) { float most = 0; int i; if "
         "(from < 0) from = 0; for (i = from; i < from + look; i++) for (int k = 0; k < n; k++) "
         "if (x[i * n + k] > most) most = x[i * n + k]; return most; }\nvoid f(const float* a, "
         "float* b, int n) { for (int i = 0; i < n; i++) { float most = peak(a, 2, i - 1, 9); b[i] "
         "= most; } }"),
      HasSubstr(
          "for (int i = 0; i < n; i++) { int from = i - 1; float most2 = 0; int i2; if (from "
          "< 0) from = 0; for (i2 = from; i2 < from + 9; i2++) for (int k = 0; k < 2; k++) if "
          "(a[i2 * 2 + k] > most2) most2 = a[i2 * 2 + k]; float most = most2; b[i] = most; "
          "}"));
  EXPECT_THAT(
      By(kInPlace,
         "static int g(int x) { const int y = x + 1; return y * y; }\nstatic int h(int x) { "
         "int s = 0; while (s < x) s += g(s); return s; }\nint f(int a) { while (h(a) > 2) "
         "a--; return a; }"),
      HasSubstr("while (s < x) { const int y = s + 1; s += y * y; } return s; } int f(int "
                "a) { while (h(a) > 2) a--;"))
      << "nothing can stand before a loop's condition";
}

TEST_F(RewriteTest, OneThatReturnsUnderConditionsChooses) {
  EXPECT_THAT(
      By(kInPlace,
         "static bool set(const char* a, int w, int h, int x, int y) { if (x < 0 || x >= w) return "
         "false; if (y < 0 || y >= h) return false; return a[y * w + x] != 0; }\nvoid f(const "
         "char* "
         "a, int* b, int w, int h) { for (int i = 0; i < w; i++) if (set(a, w, h, i - 1, i)) "
         "b[i]++; "
         "}"),
      HasSubstr("{ const int x = i - 1; if (((x < 0 || x >= w) ? false : (i < 0 || i >= h) ? false "
                ": (a[i * w + x] != 0))) b[i]++; }"));
  EXPECT_THAT(By(kInPlace,
                 "static long h(int x, unsigned y) { if (x < 0) return x; return y + 1; }\nlong "
                 "f(int a, unsigned b) { return h(a, b); }"),
              HasSubstr("return ((a < 0) ? (long)a : (long)(b + 1));"));
  EXPECT_THAT(
      By(kInPlace,
         "static int h(int c, int x) { if (c > 0) return 1; return x; }\nint f(int a, int b) "
         "{ int s = h(a, b++); return s + b; }"),
      HasSubstr("const int x = b++; int s = ((a > 0) ? 1 : x); return s + b;"))
      << "what it is given is computed in any case";
}

TEST_F(RewriteTest, OneWithSeveralReturnsIsLeftAlone) {
  for (const char* helper :
       {"static int h(int x) { for (int i = 0; i < x; i++) { if (i > 3) return 1; } return x; }",
        "static int h(int x) { if (x > 3) return 1; x += 2; return x; }",
        "static int h(int x) { return x < 2 ? 1 : x * h(x - 1); }",
        "static int h(int x) { static int n = 0; n += x; return n; }",
        "static int h(int x, ...) { return x; }", "template <typename T> T h(T x) { return x; }",
        "int a = 2; static int h(int x) { return x + a; }"})
    EXPECT_EQ(By(kInPlace, std::string(helper) + "\nint f(int a) { return h(a); }"), "") << helper;
  EXPECT_EQ(By(kInPlace,
               "static double h(double x) { const double y = x + 1; return y * y; }\ndouble "
               "f(double a) { while (h(a) > 2) a /= 2; for (; h(a) > 1;) a--; return a; }"),
            "")
      << "what it declares changes from turn to turn";
}

TEST_F(RewriteTest, NamesDoNotClash) {
  const std::string head =
      "static int h(int x) { int y = x + 1; const int s = y * y; return s + x; }\n";
  EXPECT_THAT(By(kInPlace, head + "int f(int y, int z) { int s = h(y) + h(z * 2); return s; }"),
              HasSubstr("int y2 = y + 1; const int s2 = y2 * y2; const int x = z * 2; int y3 = x + "
                        "1; const int s3 = y3 * y3; int s = (s2 + y) + (s3 + x); return s;"));
}

TEST_F(RewriteTest, WhoeverIsCalledElsewhereStays) {
  const std::string body = "int f(const char* t) { return is_digit(t[0]); }\n";
  EXPECT_THAT(
      By(kInPlace, std::string(kIsDigit) + "int g(char c) { return is_digit(c); }\n" + body),
      StartsWith("static bool is_digit"));
  EXPECT_THAT(By(kInPlace, "bool is_digit(char c) { return c >= '0' && c <= '9'; }\n" + body),
              StartsWith("bool is_digit"))
      << "others may call it";
  EXPECT_THAT(By(kInPlace, std::string(kIsDigit) + body), Not(HasSubstr("is_digit")));
}

TEST_F(RewriteTest, NoCaseJumpsOverADeclaration) {
  EXPECT_THAT(By(kInPlace,
                 "static int h(int x) { const int y = x + 1; return y * y; }\nint f(int a) { "
                 "switch (a) { case 1: a = h(a); a = h(a); break; default: { a = h(a); } } return "
                 "a; }"),
              HasSubstr("case 1: { const int y = a + 1; a = y * y; } a = h(a); break; default: { "
                        "const int y2 = a + 1; a = y2 * y2; } }"));
}

TEST_F(RewriteTest, AFunctionThatReturnsNothingMayEndWithALoop) {
  EXPECT_THAT(
      By(kInPlace,
         "static void add(const int* a, int* sum) { for (int k = 0; k < 3; k++) *sum += a[k]; }\n"
         "int f(const int* a, int n) { int s = 0; for (int i = 0; i < n; i++) add(a, &s); return "
         "s; "
         "}"),
      AllOf(HasSubstr("for (int k = 0; k < 3; k++)"), Not(HasSubstr("add("))));
}

}  // namespace
}  // namespace whetstone
