// Rules of loops that look for what is equal to something.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

const char kMatches[] = "only what matches";

// For each i, `turn`.
std::string EachKey(const std::string& turn) {
  return "struct R { int id; float v; }; void f(const R* r, const unsigned char* k, const int* q, "
         "float* out, int n, int m) { for (int i = 0; i < n; i++) { " +
         turn + " } }";
}

TEST_F(RewriteTest, OnlyWhatMatchesIsVisited) {
  EXPECT_THAT(
      By(kMatches,
         EachKey("float s = 0; for (int j = 0; j < m; j++) { if (r[j].id == q[i] && r[j].v "
                 "> 0) { s += r[j].v; break; } } out[i] = s;")),
      HasSubstr(
          "const long from = 0; long count = m - from; if (count < 0) count = 0; int shift = 63; "
          "while (shift > 40 && 1L << (64 - shift) < 2 * count) shift--; const long size = 1L << "
          "(64 - shift); long* const first = new long[size]; long* const next = new long[count]; "
          "for (long slot = 0; slot < size; slot++) { first[slot] = -1; } for (int j = from + "
          "count; j-- > from;) { long& slot = first[(unsigned long)(int)r[j].id * "
          "11400714819323198485u >> shift]; next[j - from] = slot; slot = j - from; } for (int i = "
          "0; i < n; i++) { float s = 0; for (long match = first[(unsigned long)(int)q[i] * "
          "11400714819323198485u >> shift]; match >= 0; match = next[match]) { const int j = from "
          "+ match; if (r[j].id == q[i] && r[j].v > 0) { s += r[j].v; break; } } out[i] = s; } "
          "delete[] first; delete[] next;"));
  EXPECT_THAT(
      By(kMatches, EachKey("for (int j = 0; j < m; j++) { if (k[j] != q[i]) continue; out[i] "
                           "+= r[j].v; if (out[i] > 9) break; }")),
      HasSubstr("const int j = from + match; if (k[j] != q[i]) continue; out[i] += r[j].v;"))
      << "a byte is compared as an int";
  const std::string pairs =
      By(kMatches, EachKey("for (int j = i + 1; j < n; j++) if (q[j] == q[i]) out[i] += 1;"));
  EXPECT_THAT(pairs, HasSubstr("const long from = 0 + 1; long count = n - from;"));
  EXPECT_THAT(pairs, HasSubstr("const int j = from + match; if (j < i + 1) continue; if (q[j] == "
                               "q[i]) out[i] += 1;"));
  EXPECT_THAT(By(kMatches, EachKey("for (int j = 0; j < i; j++) if (q[j] == q[i]) out[i] += 1;")),
              HasSubstr("if (j >= i) break; if (q[j] == q[i]) out[i] += 1;"));
  for (const char* turn :
       {"for (int j = 0; j < m; j++) { if (r[j].id == q[i]) out[i] += 1; else out[i] += 2; }",
        "for (int j = 0; j < m; j++) { if (r[j].id == q[i]) out[i] += 1; out[i] += 2; }",
        "for (int j = 0; j < m; j++) if (r[j].v == out[i]) out[i] += 1;",
        "for (int j = 0; j < m; j++) if (j == q[i]) out[i] += 1;",
        "for (int j = -2; j < m; j++) if (j >= 0 && q[j] == q[i]) out[i] += 1;",
        "if (i > 3) for (int j = 0; j < m; j++) if (q[j] == q[i]) out[i] += 1;",
        "for (int j = 0; j < m; j++) if (q[j] == q[i + j]) out[i] += 1;",
        "for (int j = 0; j < m; j++) if (q[i + j] == m) out[i] += 1;",
        "for (int j = 0; j < m; j++) if (r[j].id == 3) out[i] += 1;",
        "for (int j = 0; j < m; j++) if (r[j].id > q[i]) out[i] += 1;"})
    EXPECT_FALSE(Fits(kMatches, EachKey(turn))) << turn;
  EXPECT_FALSE(Fits(kMatches,
                    "int f(const int* a, int n) { for (int i = 0; i < n; i++) for (int j = 0; j < "
                    "i; j++) if (a[j] == a[i]) return j; return -1; }"))
      << "the table would stay behind";
}

TEST_F(RewriteTest, WhatIsBelowIsCountedInOrder) {
  const std::string rule = "counted in order";
  const std::string ranks =
      By(rule,
         EachKey("int less = 0; int same = 0; for (int j = 0; j < m; j++) { if (r[j].v < out[i]) "
                 "less++; else if (out[i] == r[j].v) same += 2; } "));
  EXPECT_THAT(ranks, HasSubstr("sorted[count++] = r[j].v;"));
  EXPECT_THAT(
      ranks,
      HasSubstr("{ long low = 0; for (long rest = count; rest > 0;) { const long half = (rest + 1) "
                "/ 2; low += (sorted[low + half - 1] < out[i]) * half; rest -= half; } long high = "
                "0; for (long rest = count; rest > 0;) { const long half = (rest + 1) / 2; high += "
                "(!(out[i] < sorted[high + half - 1])) * half; rest -= half; } less += low; same "
                "+= 2 * (high - low); }"));
  EXPECT_THAT(
      By(rule, EachKey("int c = 0; for (int j = 0; j < m; j++) if (q[i] <= q[j]) c++; out[i] = "
                       "c;")),
      HasSubstr("rest -= half; } c += (count - low); } out[i] = c; } delete[] sorted;"));
  for (const char* turn :
       {"for (int j = 0; j < m; j++) if (q[j] < q[i]) out[i] += r[j].v;",
        "int c = 0; for (int j = i; j < m; j++) if (q[j] < q[i]) c++; out[i] = c;",
        "int c = 0; for (int j = 0; j < m; j++) { if (q[j] < q[i]) c++; if (q[j] > n) c++; } "
        "out[i] = c;",
        "int c = 0; for (int j = 0; j < m; j++) { if (q[j] < q[i]) c++; else break; } out[i] = c;",
        "int c = 0; for (int j = 0; j < m; j++) if (q[j] < q[i]) c += j; out[i] = c;",
        "int c = 0; for (int j = 0; j < m; j++) c++; out[i] = c;",
        "int c = 0; for (int j = 0; j < m; j++) if (out[j] < q[i]) c++; out[i] = c;"})
    EXPECT_FALSE(Fits(rule, EachKey(turn))) << turn;
}

}  // namespace
}  // namespace whetstone
