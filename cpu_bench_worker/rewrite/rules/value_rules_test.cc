// Rules of structs, values and tables.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(RewriteTest, FieldsOfALocalStructAreVariables) {
  const std::string rule = "fields in variables";
  const std::string head = "struct P { float x; float y; }; ";
  EXPECT_THAT(
      By(rule, head + "void f(const P* in, P* out, int n) { for (int i = 0; i < n; i++) { P s = "
                      "{1.5f}; for (int j = 0; j < n; j++) { s.x += in[j].x; s.y += s.x; } out[i] "
                      "= s; } }"),
      HasSubstr("float s_x = 1.5f; float s_y = 0; for (int j = 0; j < n; j++) { s_x += in[j].x; "
                "s_y += s_x; } out[i] = P{s_x, s_y}; }"));
  EXPECT_THAT(By(rule, head + "P f(int n) { P s; s.x = n; s.y = 2; return s; }"),
              HasSubstr("float s_x; float s_y; s_x = n; s_y = 2; return P{s_x, s_y};"));
  const std::string sums = "struct S { int n = 0; float mean = 0.5f; };\n";
  for (const char* list : {"", "{}"})
    EXPECT_THAT(By(rule, sums + "S f(int n) { S s" + list + "; s.n += n; return s; }"),
                HasSubstr("int s_n = 0; float s_mean = 0.5f; s_n += n; return S{s_n, s_mean};"));
  for (const char* body :
       {"P s = in[0]; out[0].x = s.x;", "P s = {}; s.x = 1; s = in[0]; out[0] = s;",
        "P s = {}; P* p = &s; p->x = 1; s.y = 1; out[0] = *p;"})
    EXPECT_EQ(By(rule, head + "void f(const P* in, P* out) { " + body + " }"), "")
        << "its fields do not live alone";
}

TEST_F(RewriteTest, RemaindersOfSumsBecomeComparisons) {
  const std::string ring =
      "void f(const int* a, int* b, int n) { for (int i = 0; i < n; i++) { b[i] = a[(i + n - 1) % "
      "n] + a[(i + 1) % n] + a[i % 8] + a[i * 3 % n]; } }";
  std::vector<std::string> all;
  int single = 0;
  for (const Rewrite& each : Of(ring)) {
    if (each.rule == "remainders by comparison") all.push_back(each.source);
    single += each.rule == "a remainder by comparison" ? 1 : 0;
  }
  ASSERT_EQ(all.size(), 2U) << "below twice the divisor, and below three times";
  EXPECT_EQ(single, 4);
  EXPECT_THAT(all[0], HasSubstr("a[((i + n - 1) >= n ? (i + n - 1) - n : (i + n - 1))]"));
  EXPECT_THAT(all[0], HasSubstr("a[((i + 1) >= n ? "));
  EXPECT_THAT(all[0], HasSubstr("a[i % 8] + a[i * 3 % n]"));
  EXPECT_THAT(all[1], HasSubstr("(i + n - 1) >= 2 * n ?"));
  EXPECT_THAT(Rules("int g(); int f(int n) { return (g() + 1) % n; }"), IsEmpty())
      << "it would be called three times";
}

TEST_F(RewriteTest, ACircleIsCutOpen) {
  EXPECT_THAT(
      By("a circle cut open",
         "void f(const int* a, int* b, int n) { for (int i = 0; i < n; i++) { b[i] = a[(i + "
         "n - 1) % n] + a[(i + 1) % n]; } }"),
      HasSubstr("int i = 0; for (; i < 1 && i < n; i++) { b[i] = a[(i + n - 1) % n] + a[(i "
                "+ 1) % n]; } for (; i + 1 < n; i++) { b[i] = a[(i - 1)] + a[(i + 1)]; "
                "} for (; i < n; i++) { b[i] = a[(i + n - 1) % n] + a[(i + 1) % n]; }"));
  EXPECT_THAT(
      By("a circle cut open",
         "void f(const int* a, int* b, int n) { for (int i = 0; i < n; i++) { b[i] = a[((i - "
         "1) % n + n) % n] + a[(n - i) % n]; } }"),
      HasSubstr("b[i] = a[((i - 1) + n) % n] + a[(n - i)];"));
  EXPECT_THAT(Rules("void f(const int* a, int* b, int n, int m) { for (int i = 0; i < n; i++) { "
                    "b[i] = a[(i + 1) % m]; } }"),
              Not(Contains("a circle cut open")))
      << "it is another circle";
}

TEST_F(RewriteTest, ARemainderOfAMultipleOfTheCounterIsCountedAlong) {
  EXPECT_THAT(By("a remainder counted along",
                 "void f(const float* a, float* b, int n) { for (int k = 0; k < n; k++) { float s "
                 "= 0; for (int j = 0; j < n; j++) { int w = j * k % n; s += a[w]; } b[k] = s; } "
                 "}"),
              HasSubstr("int rest = 0; for (int j = 0; j < n; j++) { int w = rest; s += a[w]; rest "
                        "+= k; if (rest >= n) { rest -= n; } } b[k] = s;"));
}

TEST_F(RewriteTest, ADivisionByWhatTheLoopKeepsIsAProduct) {
  const std::string rule = "multiplied by the inverse";
  EXPECT_THAT(By(rule,
                 "void f(float* a, float sum, int n) { for (int i = 0; i < n; i++) a[i] /= "
                 "sum; }"),
              HasSubstr("const float inverse = (float)1 / sum; for (int i = 0; i < n; i++) a[i] *= "
                        "inverse; }"));
  EXPECT_THAT(By(rule,
                 "void f(double* a, int n) { for (int i = 0; i < n; i++) { double s = a[i]; "
                 "a[i] = s / 49.0; } }"),
              HasSubstr("const double inverse = (double)1 / 49.0;"));
  EXPECT_THAT(By(rule,
                 "void f(float* a, float* b, int n) { for (int i = 0; i < n; i++) { a[i] = "
                 "a[i] / n; b[i] /= n; } }"),
              HasSubstr("const float inverse = (float)1 / n; for (int i = 0; i < n; i++) { a[i] = "
                        "a[i] * inverse; b[i] *= inverse; }"));
  EXPECT_THAT(By(rule,
                 "void f(float* a, float s, int n) { for (int i = 0; i < n; i++) { for "
                 "(float t = 1; t > 0.1f; t /= s) a[i] += t; } }"),
              HasSubstr("t *= inverse)"));
  for (const char* body : {"a[i] = 1 / s;", "b[i] = b[i] / 7;"})
    EXPECT_EQ(By(rule, std::string("void f(float* a, int* b, int n) { for (int i = 0; i < n; i++) "
                                   "{ float s = a[i]; ") +
                           body + " } }"),
              "")
        << "each turn has a divisor of its own, or it is no fraction";
}

TEST_F(RewriteTest, WhatATurnHandsOnIsComputedAgain) {
  EXPECT_THAT(
      By("looked back",
         "int f(const unsigned char* t, int n) { int words = 0; bool before = false; for (int i = "
         "0; i < n; i++) { bool inside = t[i] > 32; words += inside & !before; before = inside; } "
         "return words; }"),
      HasSubstr("int i = 0; if (i < n) { bool inside = t[i] > 32; words += inside & !before; i++; "
                "} for (; i < n; i++) { bool before = t[i - 1] > 32; bool inside = t[i] > "
                "32; words += inside & !before; }"));
  EXPECT_EQ(By("looked back",
               "int f(const int* t, int n) { int sum = 0; int last = 0; for (int i = 0; i < n; "
               "i++) { sum += last; last = t[i] + last; } return sum; }"),
            "")
      << "it needs the turn before that";
  EXPECT_EQ(By("looked back",
               "int f(const int* t, int n) { int sum = 0; int last = 0; for (int i = 0; i < n; "
               "i++) { sum += last; if (sum > 9) { last = 0; } last = t[i]; } return sum; }"),
            "")
      << "something else changes it";
  EXPECT_THAT(
      By("looked back",
         "int f(const int* t, int n) { int sum = 0; int last = 0; for (int i = 0; i < n; i++) { "
         "unsigned char c = t[i]; sum += c == last; last = c; } return sum; }"),
      HasSubstr("int last = (unsigned char)(t[i - 1]);"));
}

TEST_F(RewriteTest, CallsOfWhatTheLoopKeepsAreMadeOnce) {
  EXPECT_THAT(By("called once",
                 "void f(float* a, float s, int n) { for (int i = 0; i < n; i++) { a[i] = a[i] * "
                 "sqrtf(s); } }"),
              HasSubstr("const float value = sqrtf(s); for (int i = 0; i < n; i++) { a[i] = a[i] * "
                        "value; }"));
  EXPECT_EQ(By("called once",
               "void f(float* a, int n) { for (int i = 0; i < n; i++) { a[i] = sqrtf(a[i]); } }"),
            "");
}

TEST_F(RewriteTest, SmallPowersAreProducts) {
  const std::string made = By("powers as products",
                              "void f(double* a, int n) { for (int i = 0; i < n; i++) { a[i] = "
                              "pow(a[i], 3) + pow(a[i] + 1, 2.0) + pow(a[i], 0.5) + pow(a[i], n) + "
                              "pow(i, 2); "
                              "} }");
  EXPECT_THAT(made, HasSubstr("(a[i] * a[i] * a[i]) + ((a[i] + 1) * (a[i] + 1)) + sqrt(a[i]) + "
                              "pow(a[i], n) + ((double)i * (double)i)"));
}

TEST_F(RewriteTest, AnEndThatIsACallIsComputedOnce) {
  EXPECT_THAT(By("an end computed once",
                 "void f(char* t) { for (unsigned long i = 0; i < __builtin_strlen(t); i++) { if "
                 "(t[i] == 'a') { t[i] = 'b'; } } }"),
              HasSubstr("const auto end = __builtin_strlen(t); for (unsigned long i = 0; "
                        "i < end; i++)"));
}

TEST_F(RewriteTest, ATableIsCountedInSeveral) {
  EXPECT_THAT(
      By("2 tables",
         "void f(const unsigned char* d, unsigned* bins, int n) { for (int i = 0; i < n; i++) { "
         "bins[d[i]]++; } }"),
      HasSubstr(
          "unsigned int part[2][256] = {}; int i = 0; for (; i + 2 <= n; i += 2) { "
          "part[0][d[i]]++; part[1][d[i + 1]]++; } for (; i < n; i++) { bins[d[i]]++; } for "
          "(int v = 0; v < 256; v++) { const unsigned int all = part[0][v] + part[1][v]; if (all "
          "!= 0) { bins[v] += all; } }"));
  EXPECT_THAT(Rules("void f(const int* d, float* sum, const float* x, int n) { for (int i = 0; i < "
                    "n; i++) { const int k = d[i]; sum[k & 15] += x[i]; } }"),
              Contains("4 tables"));
  EXPECT_THAT(Rules("void f(const int* d, int* bins, int n) { for (int i = 0; i < n; i++) { "
                    "bins[d[i]]++; } }"),
              Not(Contains("4 tables")))
      << "nothing says how many there are";
  EXPECT_THAT(By("2 tables",
                 "int f(const char* d, int n) { int bins[16] = {}; for (int i = 0; i < n; i++) { "
                 "bins[(unsigned char)d[i]]++; } return bins[3]; }"),
              HasSubstr("int part[2][16] = {};"));
}

TEST_F(RewriteTest, EightStepsOfAWordAreOneByTable) {
  const Rewrites made =
      Of("unsigned f(const unsigned char* d, int n) { unsigned crc = 1; for (int i = 0; i < n; "
         "i++) { crc ^= d[i]; for (int b = 0; b < 8; b++) { crc = crc & 1 ? (crc >> 1) ^ 9u : crc "
         ">> 1; } } return crc; }");
  std::vector<std::string> sources;
  for (const Rewrite& each : made)
    if (each.rule == "a byte's steps by table") sources.push_back(each.source);
  ASSERT_EQ(sources.size(), 2U) << "the lowest bit first, and the highest";
  EXPECT_THAT(sources[0], HasSubstr("crc ^= d[i];\n        crc = table[crc & 255] ^ (crc >> 8);"));
  EXPECT_THAT(sources[0], HasSubstr("unsigned int w = v;"));
  EXPECT_THAT(sources[1], HasSubstr("crc = table[crc >> 24] ^ (crc << 8);"));
  EXPECT_THAT(sources[1], HasSubstr("unsigned int w = (unsigned int)v << 24;"));
  for (const std::string& source : sources)
    EXPECT_THAT(Rules(source), Not(Contains("a byte's steps by table")));
  EXPECT_THAT(
      Rules("unsigned short f(const unsigned char* d, int n, unsigned short poly) { unsigned short "
            "crc = 0; for (int i = 0; i < n; i++) { crc ^= (unsigned short)(d[i] << 8); for (int "
            "b = 0; b < 8; b++) { const unsigned short mask = -(crc >> 15); crc = (unsigned "
            "short)((crc << 1) ^ (poly & mask)); } } return crc; }"),
      Contains("a byte's steps by table"));
}

}  // namespace
}  // namespace whetstone
