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
         "char* "
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
  EXPECT_EQ(made("if (i == m) break; int s = 0; " + loop + "a[i] ^ k; } b[i] = s;"), "")
      << "there may be no such element";
}

TEST_F(RewriteTest, ATableOverValuesIsMadeOnce) {
  const std::string made =
      "void f(const int* a, int* b, int n, int m) { for (int i = 0; i < n; i++) { int s = 0; for "
      "(int k = 0; k < m; k++) { s += a[i] ^ k; } b[i] = s; } }";
  EXPECT_EQ(By(kRule, By(kRule, made)), "");
}

}  // namespace
}  // namespace whetstone
