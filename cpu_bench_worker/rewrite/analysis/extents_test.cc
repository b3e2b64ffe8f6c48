#include "cpu_bench_worker/rewrite/analysis/extents.h"

#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class ExtentsTest : public RewriteTest {
 protected:
  static Extents ExtentsIn(const std::string& source) {
    std::string refused;
    Extents extents = ExtentsOfProgram(kFlags, *pch_, "f", source, &refused);
    EXPECT_EQ(refused, "") << source;
    return extents;
  }
  // How long the array a is, as these loops say.
  static std::string LengthOfA(const std::string& body) {
    const Extents extents =
        ExtentsIn("void f(float* a, const int* b, int n, int m) {" + body + "}");
    const auto it = extents.arrays.find("a");
    return it == extents.arrays.end() ? "" : it->second;
  }
};

TEST_F(ExtentsTest, AnArrayIsAsLongAsItsLoopsReach) {
  EXPECT_EQ(LengthOfA("for (int i = 0; i < n; i++) a[i] = 0;"), "n");
  EXPECT_EQ(LengthOfA("for (int i = 0; i <= n - 1; ++i) a[2 * i + 1] = 0;"), "2*n");
  EXPECT_EQ(LengthOfA("for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i * m + j] = 0;"),
            "m*n");
  EXPECT_EQ(LengthOfA("for (int i = 0; i < n; i++) for (int j = i; j < i + 64; j++) a[j] = 0;"),
            "n+63");
  EXPECT_EQ(LengthOfA("for (int i = 0; i + m <= n; i += 2) for (int j = 0; j < m; j++) a[i + j] = "
                      "0;"),
            "n");
  EXPECT_EQ(LengthOfA("for (int i = n - 1; i >= 0; i--) a[i] = 0;"), "n");
  EXPECT_EQ(
      LengthOfA("int i, j; for (i = 0; i < n; i++) for (j = 0; j < m; j++) a[i * m + j] = 0;"),
      "m*n");
  EXPECT_EQ(LengthOfA("int i = 0; while (i < n) { a[i] = 0; i++; }"), "n");
  EXPECT_EQ(LengthOfA("int i; i = n; while (i-- > 0) a[i] = 0;"), "n");
  EXPECT_EQ(
      LengthOfA("int k; for (int i = 0; i < n; i++) { k = i; while (k < m) { a[k] = 0; k++; if "
                "(b[k] > 0) break; } }"),
      "m");
  EXPECT_EQ(LengthOfA("for (int i = 0; i < n; i++) { int k = 16; while (k > 0 && a[i * 16 + k - 1] "
                      "== 0) --k; }"),
            "16*n");
  for (const char* body :
       {"int k = n; while (k < m) { k += b[0]; a[k] = 0; }",
        "int k = 0; while (k < n) { if (b[k] > 0) k = m; a[k] = 0; k++; }",
        "int k = 0; while (k < n) { if (b[k++] > 0) a[k] = 0; }",
        "int k = 0; while (k < n && b[k++] > 0) a[k] = 0;",
        "int k = b[0]; if (k >= n) k = n - 1; if (b[1]) k = b[2]; a[k] = 0;",
        "int k = m; switch (n) { case 0: if (k >= n) k = n - 1; break; default: a[k] = 0; }"})
    EXPECT_EQ(LengthOfA(body), "") << body;
  EXPECT_EQ(LengthOfA("for (int i = 0; i < n; i++) a[n - b[i] % m] = 0;"), "m+n")
      << "a remainder may be below 0";
  EXPECT_EQ(LengthOfA("int k = n; int* p = &k; *p = m; a[k] = 0;"), "");
  EXPECT_EQ(LengthOfA("for (int i = 0; i + 1 < n; i++) a[i] = 0;"), "max(1, n-1)");
  EXPECT_EQ(LengthOfA("for (int i = 1; i < n - 1; i++) a[i + 1] = a[i - 1];"), "n");
  EXPECT_EQ(LengthOfA("for (int i = 0; i < n; i++) a[b[i] % m] = 0;"), "m");
  EXPECT_EQ(LengthOfA("for (int i = 0; i < n; i++) a[b[i] & 255] = 0;"), "256");
}

TEST_F(ExtentsTest, InnerLoopsEndWhereOuterOnesLetThem) {
  EXPECT_EQ(
      LengthOfA("for (int i = 0; i < n; i++) for (int t = 0; i + t < n; t++) for (int s = 0; s "
                "<= t; s++) a[i + s] = 0;"),
      "n");
  EXPECT_EQ(LengthOfA("for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) a[i - j] = 0;"),
            "n");
  EXPECT_EQ(
      LengthOfA("for (int i = 0; i < n; i++) for (int j = 0; j < n - i; j++) a[n - 1 - i - j] "
                "= 0;"),
      "n");
}

TEST_F(ExtentsTest, WhatGrowsWithoutEndIsGivenUp) {
  std::string body = "const int v0 = n + m; ";
  for (int i = 1; i < 40; ++i) {
    const std::string last = "v" + std::to_string(i - 1);
    body += "const int v" + std::to_string(i) + " = " + last + " * " + last + " + " + last + "; ";
  }
  EXPECT_EQ(LengthOfA(body + "a[v39] = 0; a[v39 + v38] = 0;"), "");
  EXPECT_EQ(LengthOfA("a[4000000000000000000LL * n + 4000000000000000000LL * n + "
                      "4000000000000000000LL * n] = 0;"),
            "");
}

TEST_F(ExtentsTest, APointerIntoItReachesAsFar) {
  EXPECT_EQ(
      LengthOfA("for (int i = 0; i < n; i++) { float* row = a + i * m; for (int j = 0; j < m; "
                "j++) row[j] = 0; }"),
      "m*n");
  EXPECT_EQ(LengthOfA("for (int i = 0; i < n; i++) { float* row = &a[i * m]; row[m - 1] = 0; }"),
            "m*n");
}

TEST_F(ExtentsTest, GuardsHoldItBack) {
  const std::string head =
      "for (int i = 0; i < n; i++) for (int d = -3; d <= 3; d++) { int k = i + "
      "d; ";
  EXPECT_EQ(LengthOfA(head + "if (k >= 0 && k < n) a[k] = 0; }"), "n");
  EXPECT_EQ(LengthOfA(head + "if (k < 0 || k >= n) { continue; } a[k] = 0; }"), "n");
  EXPECT_EQ(LengthOfA(head + "if (k >= 0 && k < n && d < m) a[k * m + 1] = 0; }"), "m*n+2-m");
  EXPECT_EQ(LengthOfA(head + "a[i] = k < n ? a[k] : 0; }"), "n");
  EXPECT_EQ(LengthOfA(head + "if (k > 0 && a[k] > 0) break; }"), "n+3") << "it may be so";
}

TEST_F(ExtentsTest, PlacesHeldWithinAnArrayReachItsEnd) {
  const std::string head =
      "void f(float* a, int n, int m) { for (int i = 0; i < n; i++) for (int d = -3; d <= 3; d++) "
      "{ ";
  for (const char* held :
       {"std::min(std::max(i + d, 0), n - 1)", "std::max(0, std::min(i + d, n - 1))",
        "std::clamp(i + d, 0, n - 1)", "i + d < 0 ? 0 : i + d >= n ? n - 1 : i + d"}) {
    const Extents extents = ExtentsIn(head + "int k = " + held + "; a[k * m] = 0; } }");
    ASSERT_EQ(extents.arrays.count("a"), std::string(held).find('?') == std::string::npos) << held;
    if (extents.arrays.count("a") > 0) {
      EXPECT_EQ(extents.arrays.at("a"), "m*n+1-m") << held;
    }
  }
  EXPECT_EQ(
      LengthOfA("for (int i = 0; i < n; i++) for (int d = -3; d <= 3; d++) { int k = i + d; int c "
                "= k < 0 ? 0 : k >= n ? n - 1 : k; a[c * m] = 0; }"),
      "m*n+1-m");
}

TEST_F(ExtentsTest, WhatIsNotKnownIsNotSaid) {
  EXPECT_EQ(LengthOfA("for (int i = 0; i < n; i++) a[b[i]] = 0;"), "");
  EXPECT_EQ(LengthOfA("for (int i = 0; i < n; i++) *a++ = 0;"), "");
  EXPECT_EQ(LengthOfA("int at = 0; for (int i = 0; i < n; i++) { if (b[i] > 0) a[at++] = 0; }"),
            "");
  EXPECT_EQ(LengthOfA("for (int i = 0; b[i] != 0; i++) a[i] = 0;"), "");
}

TEST_F(ExtentsTest, OnePlaceThatIsNotKnownLeavesTheArrayOut) {
  for (const char* more :
       {"for (int i = 0; i < n; i++) a[b[i]] = 0;",
        "int i = 1; while (b[i] < n) { a[i] = 0; i++; if (b[i] > 0) i++; }",
        "int i; for (i = 1; i < n; i++) a[i] = 0; b += i;", "*(a + n) = 0;",
        "float* p = a; p += n; *p = 0;", "for (int i = 0; i < n; i++) a[i << 1] = 0;",
        "for (int i = n; i-- > b[0]; i += b[1]) a[i] = 0;",
        "for (int i = 0; i < n / 2; i++) a[i] = 0;", "f(a + 1, b, n - 1, m);",
        "int k = 0; if (k < n) { k += b[0]; a[k] = 0; }",
        "auto set = [&](auto k) { a[k] = 0; }; set(n);",
        "for (int i = 0; i < (n > m ? n : m); i++) a[i] = 0;"})
    EXPECT_EQ(LengthOfA("a[0] = 1; " + std::string(more)), "") << more;
  EXPECT_EQ(LengthOfA("auto set = [&](int k) { a[k] = 0; }; set(n);"), "n+1");
  EXPECT_EQ(LengthOfA("a[m] = 0; for (int i = 0; i < n; i++) a[i] = 0;"), "max(n, m+1)");
  EXPECT_EQ(LengthOfA("a[0] = 0; for (int i = 0; i < n; i++) a[i] = 0;"), "n");
}

TEST_F(ExtentsTest, CountersGoDownAndTogether) {
  EXPECT_EQ(LengthOfA("for (int k = m; k >= -m; k--) a[m - k] = 0;"), "2*m+1");
  EXPECT_EQ(LengthOfA("for (int l = 0, r = n - 1; l < r && r > 0 && l < n; l++, r--) a[r] = a[l];"),
            "");
  EXPECT_EQ(LengthOfA("for (int l = 0, r = 0; l < r && r < l; l++, r++) a[l] = 0;"), "");
  EXPECT_EQ(LengthOfA("for (unsigned long i = 0; i < (n & ~(unsigned long)7); i++) a[i] = 0;"),
            "n");
  EXPECT_EQ(LengthOfA("for (int i = 0; i < n; i++) a[(i * 0x9E3779B97F4A7C15ull) % n] = 0;"), "n");
  EXPECT_EQ(LengthOfA("for (int i = 0; i < n; i++) a[(unsigned char)(i - 1)] = 0;"), "256");
}

TEST_F(ExtentsTest, WhatMayBeBelowZeroBoundsNothing) {
  const std::string rows = "for (int i = 0; i < n; i++) ";
  EXPECT_EQ(LengthOfA(rows + "a[(i - 1) & (n - 1)] = 0;"), "n");
  EXPECT_EQ(LengthOfA(rows + "a[(i - 3) & m] = 0;"), "m+1");
  const std::string square = "for (int y = -m; y < m; y++) for (int x = -m; x < m; x++) ";
  EXPECT_EQ(LengthOfA(square + "a[y * y + x * x] = 0;"), "");
  EXPECT_EQ(
      LengthOfA("for (int y = -1; y <= 1; y++) for (int x = 0; x < n; x++) a[n * m - y * x] = "
                "0;"),
      "");
  EXPECT_EQ(LengthOfA("for (int d = -m; d < m; d++) a[d < 0 ? -d : d] = 0;"), "");
  EXPECT_EQ(LengthOfA("const int step = -1; for (int i = 0; i < n; i -= step) a[i] = 0;"), "");
  EXPECT_EQ(LengthOfA(rows + "a[i % -7] = 0;"), "");
}

TEST_F(ExtentsTest, AHeadLooksOneFurtherThanItsBody) {
  EXPECT_EQ(LengthOfA("int c = 0; for (int i = 0; a[i] != 0 && i < n; i++) c++;"), "");
  EXPECT_EQ(LengthOfA("int c = 0; for (int i = 0; i < n && a[i] != 0; i++) c++;"), "n");
  EXPECT_EQ(LengthOfA("for (int i = 0, e = n; i < e; ++i) a[i] = 0;"), "n");
  EXPECT_EQ(
      LengthOfA("for (int i = 0; i < n; i++) { switch (i & 1) { case 0: if (i >= m) continue; "
                "case 1: a[i] = 0; } }"),
      "n");
}

TEST_F(ExtentsTest, WhatHelpersReachCounts) {
  const auto arrays = [](const std::string& source) { return ExtentsIn(source).arrays; };
  EXPECT_THAT(arrays("static float peak(const float* x, int n, int ch, int from, int look) { float "
                     "most = 0; for (int c = 0; c < ch; c++) for (int i = from; i < std::min(n, "
                     "from + look); i++) most = std::max(most, x[i * ch + c]); return most; } void "
                     "f(const float* x, float* out, int n, int ch, int look) { for (int i = 0; i < "
                     "n; i++) { float most = peak(x, n, ch, i, look); out[i] = most; } }"),
              ElementsAre(Pair("out", "n"), Pair("x", "ch*n")));
  EXPECT_THAT(
      arrays("static double square(double a) { return a * a; } static double apart(const "
             "double* a, const double* b) { double s = 0; for (int k = 0; k < 3; k++) s += "
             "square(a[k] - b[k]); return s; } void f(const double* pos, int n, double* out)"
             " { int i, j; for (i = 0; i < n; i++) for (j = 0; j < n; j++) out[i] += "
             "apart(pos + 3 * i, pos + 3 * j); }"),
      ElementsAre(Pair("out", "n"), Pair("pos", "3*n")));
  EXPECT_THAT(
      arrays("static int first(const int* a, int n) { for (int i = 0; i < n; i++) if (a[i] > "
             "0) return i; return n; } void f(const int* a, int* out, int n) { out[0] = "
             "first(a, n); }"),
      ElementsAre(Pair("out", "1")))
      << "a helper that returns out of a loop stays where it is";
  EXPECT_THAT(
      arrays("static int at(const int* a, int w, int h, int x, int y) { if (x < 0) x = 0; if "
             "(y < 0) y = 0; if (x >= w) x = w - 1; if (y >= h) y = h - 1; return a[y * w + "
             "x]; } void f(const int* a, int* out, int w, int h) { for (int y = 0; y < h; "
             "y++) for (int x = 0; x < w; x++) out[y * w + x] = at(a, w, h, x + 3, y - 3) - "
             "at(a, w, h, x, y); }"),
      ElementsAre(Pair("a", "h*w"), Pair("out", "h*w")));
  EXPECT_THAT(
      arrays("static bool set(const char* a, int w, int h, int x, int y) { if (x < 0 || y < 0 "
             "|| x >= w || y >= h) return false; return a[y * w + x] != 0; } void f(const "
             "char* a, int* out, int w, int h) { for (int y = 0; y < h; y++) for (int x = 0; "
             "x < w; x++) out[y * w + x] = set(a, w, h, x + 1, y + 1); }"),
      ElementsAre(Pair("a", "h*w"), Pair("out", "h*w")));
}

TEST_F(ExtentsTest, SizesAreWhatLengthsAndLoopsAreMadeOf) {
  const Extents extents = ExtentsIn(
      "void f(const float* a, float* out, int n, int radius, int threshold) { for (int i = 0; i < "
      "n; "
      "i++) for (int d = 0; d <= radius; d++) out[i] += a[i + d] > threshold; }");
  EXPECT_THAT(extents.arrays, ElementsAre(Pair("a", "n+radius"), Pair("out", "n")));
  EXPECT_THAT(extents.sizes, ElementsAre("n", "radius"));
  EXPECT_THAT(
      ExtentsIn("int f(int n, int k) { const int half = n / 2; int s = 0; for (int i = 0; i "
                "< half; i++) s += k; return s; }")
          .sizes,
      ElementsAre("n"));
  EXPECT_THAT(ExtentsIn("int f(int n) { return n; }").sizes, IsEmpty());
  EXPECT_THAT(
      ExtentsIn("void row(float*, int); void f(float* a, int h, int w) { for (int y = 0; y < "
                "h; y++) row(a + y * w, w); }")
          .sizes,
      ElementsAre("h", "w"));
  EXPECT_THAT(
      ExtentsIn("int f(const int* a, int n, int k) { int s = 0; for (int i = 0; i < n; i++) s "
                "+= a[i]; return s - a[k]; }")
          .sizes,
      ElementsAre("k", "n"));
}

}  // namespace
}  // namespace whetstone
