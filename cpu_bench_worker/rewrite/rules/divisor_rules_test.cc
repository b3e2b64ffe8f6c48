// Rules of loops whose turns ask for their counter's quotient and remainder.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::Contains;
using testing::HasSubstr;

const char kGrouped[] = "groups by the divisor";

TEST_F(RewriteTest, TurnsWithOneQuotientAreAGroup) {
  EXPECT_THAT(
      By(kGrouped,
         "void f(const unsigned char* a, unsigned char* bits, int n) { for (int x = 0; x < n; x++) "
         "{ if (a[x] > 9) bits[x / 8] |= 1 << (x % 8); } }"),
      HasSubstr("for (int group = 0; group < n / 8; group++) { for (int rest = 0; rest < 8; "
                "rest++) { const int x = group * 8 + rest; if (a[x] > 9) bits[group] |= 1 << "
                "(rest); } } for (int x = n / 8 * 8; x < n; x++) { if (a[x] > 9) bits[x / 8] |= 1 "
                "<< (x % 8); } }"));
  EXPECT_THAT(By(kGrouped,
                 "void f(const int* a, int* b, unsigned n) { for (unsigned i = 0; i <= n; i++) { "
                 "b[i] = a[i >> 1] + a[i & 3]; } }"),
              HasSubstr("for (unsigned int group = 0; group < (n + 1) / 2; group++) { for "
                        "(unsigned int rest = 0; rest < 2; rest++) { const unsigned int i = group "
                        "* 2 + rest; b[i] = a[group] + a[i & 3]; } }"));
  for (const char* loop : {"for (int i = 1; i < n; i++) b[i] = a[i / 2];",
                           "for (int i = 0; i < n; i++) b[i] = a[i / n];",
                           "for (int i = 0; i < n; i++) { if (a[i / 2]) break; b[i] = 1; }",
                           "for (int i = 0; i < n; i++) b[i] = a[i & 5];",
                           "for (int i = 0; i < n; i++) b[i] = i / 100;",
                           "for (int i = 0; i < n; i++) b[i] = a[i % 2];",
                           "for (int i = 0; i < 8; i++) b[i] = a[i / 8];",
                           "for (int i = 0; i <= sqrt(n); i++) b[i] = a[i / 2];",
                           "for (int i = 0; i < n; i++) { static int s = 0; b[i] = s++ + i / 2; }",
                           "for (int i = 0; i < n; i++) { b[i] = a[i / 2]; n--; }"})
    EXPECT_FALSE(
        Fits(kGrouped, "void f(const int* a, int* b, int n) { " + std::string(loop) + " }"))
        << loop;
}

TEST_F(RewriteTest, WhatAGroupUpdatesIsKeptInAVariable) {
  EXPECT_THAT(
      Rules("void f(const unsigned char* a, unsigned char* bits, int n) { for (int x = 0; x "
            "< n; x++) { if (a[x] > 9) bits[x / 8] |= 1 << (x % 8); } }"),
      Contains("groups by the divisor, then kept in a variable"));
}

}  // namespace
}  // namespace whetstone
