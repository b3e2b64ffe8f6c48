// Rules of tables over the values that a turn is given.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kRule[] = "a table over values";

TEST_F(RewriteTest, WhatATurnComputesOfANumberIsTakenFromATable) {
  EXPECT_THAT(
      By(kRule,
         "void f(const short* in, int* out, int n, int m) { for (int i = 0; i < n; i++) { int s = "
         "0; for (int k = 0; k < m; k++) { s += (in[i] ^ k) & 7; } out[i] += s; } }"),
      AllOf(
          HasSubstr("for (int i = 0; i < n; i++) { const int value = in[i]; least = value < "
                    "least ? value : least; most = value > most ? value : most; turns++; }"),
          HasSubstr("if (range < turns) { int* const table = new int[range + 1]; for (unsigned "
                    "long place = 0; place <= range; place++) { const short value = (short)(least "
                    "+ place); int s = 0; for (int k = 0; k < m; k++) { s += (value ^ k) & 7; } "
                    "table[place] = s; } for (int i = 0; i < n; i++) { int s = table[in[i] - "
                    "least]; out[i] += s; } delete[] table; } else { for (int i = 0; i < n; i++) "
                    "{ int s = 0;")));
}

TEST_F(RewriteTest, ATableStandsBeforeAllLoopsThatDoNotChangeIt) {
  EXPECT_THAT(
      By(kRule,
         "static double g(double x) { return x < 1 ? x : pow(x, 2.4); } void f(const unsigned "
         "short* "
         "in, double* out, int h, int w) { for (int y = 0; y < h; y++) { for (int x = 0; x < w; "
         "x++) { const int v = in[y * w + x]; if (v == 0) continue; const double c = g(v / 255.0); "
         "out[y] += c; } } }"),
      AllOf(HasSubstr("for (int y = 0; y < h; y++) { for (int x = 0; x < w; x++) { const int value "
                      "= in[y * w + x];"),
            HasSubstr("const int v = (int)(least + place); const double c = g(v / 255.0); "
                      "table[place] = c; }"),
            HasSubstr("if (v == 0) continue; double c = table[v - least]; out[y] += c; }")));
}

TEST_F(RewriteTest, StepsGoOnWhereTheyEndedForTheNumberBefore) {
  EXPECT_THAT(
      By(kRule,
         "static int days(int y) { return y % 4 == 0 ? 366 : 365; } void f(const int* day, int* "
         "sums, int n) { for (int i = 0; i < n; i++) { int left = day[i]; int year = 0; while "
         "(left >= days(year)) { left -= days(year); year++; } sums[year & 7] += left; } }"),
      AllOf(
          HasSubstr("if (range < 4 * turns) {"),
          HasSubstr("int left_on = (int)least; int year_on = 0; for (unsigned long place = 0; "
                    "place <= range; place++) { const int value = (int)(least + place); while "
                    "(left_on >= days(year_on)) { left_on -= days(year_on); year_on++; } int left "
                    "= left_on++; int year = year_on; table[place] = left; table2[place] = year; "
                    "}"),
          HasSubstr("int left = table[day[i] - least]; int year = table2[day[i] - least]; "
                    "sums[year & 7] += left;")));
}

TEST_F(RewriteTest, WhatNeedsMoreThanANumberHasNoTableOverValues) {
  const auto made = [](const std::string& turn) {
    return By(kRule,
              "int g(int); void f(const int* a, int* b, int n, int m) { for (int i = 0; i < "
              "n; i++) { " +
                  turn + " } }");
  };
  const std::string loop = "for (int k = 0; k < m; k++) { s += ";
  EXPECT_NE(made("int s = 0; " + loop + "a[i] ^ k; } b[i] = s;"), "");
  EXPECT_EQ(made("int s = a[i] ^ m; b[i] = s;"), "") << "it is quick";
  EXPECT_EQ(made("int s = 0; " + loop + "a[i] ^ i; } b[i] = s;"), "") << "the counter";
  EXPECT_EQ(made("int s = 0; " + loop + "a[i] ^ b[k]; } b[i] = s;"), "") << "what turns change";
  EXPECT_EQ(made("int s = 0; " + loop + "b[i] ^ k; } b[i] = s;"), "") << "it changes itself";
  EXPECT_EQ(made("int s = 0; " + loop + "g(a[i] ^ k); } b[i] = s;"), "")
      << "nobody knows what the call does";
  EXPECT_EQ(made("int s = 0; " + loop + "a[i] ^ k; if (s > 9) return; } b[i] = s;"), "");
}

TEST_F(RewriteTest, NoTableOverValuesLooksAtElementsThatMayNotBeThere) {
  const auto made = [](const std::string& loop) {
    return By(kRule, "void f(const int* a, int* b, int n, int m) { " + loop + " }");
  };
  const std::string turn = "int s = 0; for (int k = 0; k < m; k++) { s += a[i] ^ k; } b[i] = s; ";
  const std::string kept =
      "int v = a[i]; v & 1 ? b[i]++ : 0; int s = 0; for (int k = 0; k < m; "
      "k++) { s += v ^ k; } b[i] += s; ";
  const std::string head = "for (int i = 0; i < n; i++) { ";
  EXPECT_NE(made(head + turn + "}"), "");
  EXPECT_NE(made(head + kept + "}"), "");
  EXPECT_EQ(made(head + "if (i == m) continue; " + turn + "}"), "");
  EXPECT_EQ(made(head + "if (i == m) continue; " + kept + "}"), "");
  EXPECT_EQ(made(head + "if (i != m) { " + turn + "} }"), "");
  EXPECT_EQ(made(head + "if (i == m) break; " + turn + "}"), "");
  EXPECT_THAT(made("for (int y = 0; y < n; y++) { if (y == m) continue; " + head + turn + "} }"),
              HasSubstr("if (y == m) continue; { int least = 2147483647;"))
      << "there they are";
}

TEST_F(RewriteTest, ATableOverBytesHasAllOfThem) {
  const auto made = [](const std::string& type) {
    return By(kRule, "void f(const " + type +
                         "* in, double* out, int n) { for (int i = 0; i < n; i++) { const int q = "
                         "in[i]; const double term = pow(10.0, -q / 10.0); out[i] = term; } }");
  };
  EXPECT_THAT(made("unsigned char"),
              HasSubstr("{ double table[256]; for (int place = 0; place < 256; place++) { const "
                        "unsigned char value = (unsigned char)place; const int q = value; const "
                        "double term = pow(10.0, -q / 10.0); table[place] = term; } for (int i = "
                        "0; i < n; i++) { double term = table[(unsigned char)in[i]]; out[i] = "
                        "term; } }"));
  EXPECT_THAT(made("signed char"), HasSubstr("const signed char value = (signed char)place;"));
}

TEST_F(RewriteTest, WhatDoesNotWorkForAllBytesHasATableOfThoseThereAre) {
  for (const char* computed : {"int t = 1000 / v; for (int k = 0; k < 3; k++) { t = t * t; }",
                               "int t = 0; int w = v; while (w != 1) { w = w / 2; t++; }"})
    EXPECT_THAT(By(kRule,
                   "void f(const unsigned char* in, int* out, int n) { for (int i = 0; i < n; "
                   "i++) { const int v = in[i]; " +
                       std::string(computed) + " out[i] = t; } }"),
                testing::AnyOf("", HasSubstr("least")))
        << computed;
}

TEST_F(RewriteTest, WhatIsComparedFirstIsBeyondAllValues) {
  const auto made = [](const std::string& type) {
    return By(kRule, "void f(const " + type +
                         "* in, int* out, int n, int m) { for (int i = 0; i < n; i++) { int s = 0; "
                         "for (int k = 0; k < m; k++) { s += (in[i] ^ k) & 7; } out[i] = s; } }");
  };
  EXPECT_THAT(made("unsigned short"),
              HasSubstr("int least = 2147483647; int most = -2147483647 - 1;"));
  EXPECT_THAT(made("unsigned"), HasSubstr("unsigned least = 4294967295u; unsigned most = 0;"));
  EXPECT_THAT(made("long long"), HasSubstr("long least = 9223372036854775807; long most = "
                                           "-9223372036854775807 - 1;"));
  EXPECT_THAT(made("unsigned long"),
              HasSubstr("unsigned long least = 18446744073709551615u; unsigned long most = 0;"));
  EXPECT_EQ(made("__int128"), "");
}

TEST_F(RewriteTest, AVariableThatDoesNotHoldAllValuesIsNoPlace) {
  const auto made = [](const std::string& element, const std::string& variable) {
    return By(kRule, "void f(const " + element +
                         "* in, int* out, int n, int m) { for (int i = 0; i < n; i++) { " +
                         variable +
                         " v = in[i]; if (v == 0) continue; int s = 0; for (int k = 0; k < m; "
                         "k++) { s += v ^ k; } out[i] = s; } }");
  };
  for (const auto& [element, variable] : {std::pair("int", "unsigned char"),
                                          {"short", "char16_t"},
                                          {"unsigned", "int"},
                                          {"long", "int"}})
    EXPECT_EQ(made(element, variable), "") << element << " in " << variable;
  for (const auto& [element, variable] :
       {std::pair("int", "int"), {"unsigned char", "short"}, {"unsigned", "long"}})
    EXPECT_NE(made(element, variable), "") << element << " in " << variable;
}

TEST_F(RewriteTest, StepsDoNotGoOnWhereNumbersAreCut) {
  EXPECT_THAT(By(kRule,
                 "void f(const int* day, int* sums, int n) { for (int i = 0; i < n; i++) { short "
                 "left = day[i]; int year = 0; while (left >= 365) { left -= 365; year++; } "
                 "sums[year & 7] += left; } }"),
              HasSubstr("if (range < turns) {"));
}

TEST_F(RewriteTest, CallsWithStateHaveNoTableOverValues) {
  const auto made = [](const std::string& helpers, const std::string& value) {
    return By(kRule, helpers +
                         " void f(const int* a, double* b, int n, int m) { for (int i = 0; i < n; "
                         "i++) { double s = 0; for (int k = 0; k < m; k++) { s += " +
                         value + "; } b[i] = s; } }");
  };
  EXPECT_NE(made("static int g(int x) { static const int t[2] = {3, 5}; return t[x & 1]; }",
                 "g(a[i] ^ k)"),
            "");
  EXPECT_EQ(made("static unsigned g(int x) { static unsigned s = 1; s ^= s << 13; return s ^ x; }",
                 "g(a[i] ^ k)"),
            "");
  EXPECT_EQ(made("static int t = 1; static int g(int x) { return t ^ x; }", "g(a[i] ^ k)"), "");
  EXPECT_EQ(made("static int t = 1; struct P { int x; P(int y) : x(y + t++) {} }; static int g(int "
                 "x) { P p(x); return p.x; }",
                 "g(a[i] ^ k)"),
            "");
  EXPECT_EQ(made("double cbrt(double x) { return x < 0 ? -cbrt(-x) : x / 3; }", "cbrt(1.0 * a[i])"),
            "")
      << "it calls itself";
}

TEST_F(RewriteTest, VeryLongTurnsHaveNoTableOverValues) {
  const auto made = [](int statements) {
    std::string turn = "int s = 0; for (int k = 0; k < m; k++) { s += a[i] ^ k; } ";
    for (int each = 2; each < statements; ++each) turn += "b[i] += s; ";
    return By(kRule, "void f(const int* a, int* b, int n, int m) { for (int i = 0; i < n; i++) { " +
                         turn + "} }");
  };
  EXPECT_NE(made(64), "");
  EXPECT_EQ(made(65), "");
}

TEST_F(RewriteTest, ATableOverValuesIsMadeOnce) {
  const std::string once = By(
      kRule,
      "void f(const int* a, int* b, int n, int m) { for (int i = 0; i < n; i++) { int s = 0; for "
      "(int k = 0; k < m; k++) { s += a[i] ^ k; } b[i] = s; } }");
  EXPECT_NE(once, "");
  EXPECT_EQ(By(kRule, once), "");
}

}  // namespace
}  // namespace whetstone
