// Rules of borders.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;
using testing::Not;

const char kPadded[] = "padded";
const char kHead[] =
    "void f(const float* in, const float* w, float* out, int n) { for (int i = 0; i < n; i++) { "
    "float s = 0; for (int k = -2; k <= 2; k++) { ";
const char kTail[] = " } out[i] = s; } }";

std::string Sum(const std::string& turn) { return kHead + turn + kTail; }

TEST_F(RewriteTest, WhatIsAddedUpWithinTheBorderIsPaddedWithZeros) {
  EXPECT_THAT(
      By(kPadded, Sum("int x = i + k; if (x >= 0 && n > x) { s += in[x] * w[k + 2]; }")),
      HasSubstr("if (n > 0) { float* padded = new float[(n + 4)]; for (int u = -2; n + 2 > u; u++) "
                "padded[u + 2] = u >= 0 && u < n ? in[u] : 0; for (int i = 0; i < n; i++) { "
                "float s = 0; for (int k = -2; k <= 2; k++) { s += padded[i + k + 2] * w[k + 2]; } "
                "out[i] = s; } delete[] padded; }"));
  EXPECT_THAT(By(kPadded, Sum("if (k >= -i && k < n - i) s += in[i + k];")),
              HasSubstr("padded[u + 2] = u >= 0 && u < n ? in[u] : 0;"));
}

TEST_F(RewriteTest, WhatIsCountedWithinTheBorderIsPaddedToo) {
  EXPECT_THAT(
      By(kPadded, Sum("int x = i - k; if (x >= 0 && x < n) { float v = in[x]; float d = v - "
                      "in[i]; s += v * d; out[0] = 0; }")),
      "")
      << "it does something else, too";
  const std::string both =
      By(kPadded,
         "void f(const float* in, float* out, int n) { for (int i = 0; i < n; i++) { float s = 0; "
         "float t = 0; int c = 0; for (int k = 0; k < 3; k++) { int x = i - k; if (x >= 0) { float "
         "v = in[x]; s += v * k; t += v + 1; c++; } } out[i] = s / c + t; } }");
  EXPECT_THAT(both, HasSubstr("padded2[u + 2] = u >= 0 ? 1 : 0;"));
  EXPECT_THAT(both, HasSubstr("int* padded3 = new int[(n + 2)];"));
  EXPECT_THAT(both, HasSubstr("{ float v = padded[i + 2 - k]; s += v * k; t += (v + 1) * "
                              "padded2[i + 2 - k]; c += padded3[i + 2 - k]; }"));
}

TEST_F(RewriteTest, WhatIsReadAtTheBorderIsPadded) {
  EXPECT_THAT(
      By(kPadded,
         "static int held(int v, int last) { if (v < 0) return 0; if (v > last) return last; "
         "return v; } void f(const unsigned char* a, const unsigned char* b, int* out, int w, int "
         "h, int range) { for (int by = 0; by < h; by += 8) { for (int dy = -range; dy <= range; "
         "dy++) { for (int y = by; y < by + 8; y++) { for (int x = 0; x < w; x++) { int ry = "
         "held(y + dy, h - 1); int d = a[y * w + x] - b[x + ry * w]; out[by] += d * d; } } } } }"),
      HasSubstr(
          "unsigned char* padded = new unsigned char[2 * range + 1 > 0 && w > 0 ? (2 * range + "
          "h + 7) * w : 0]; if (2 * range + 1 > 0 && w > 0) for "
          "(int u = -range; range + h + 7 > u; u++) for (int vv = 0; w > vv; vv++) "
          "padded[(u + range) * w + vv] = b[vv + (held(u, (h - 1))) * w]; for (int by = 0; "
          "by < h; by += 8) { for (int dy = -range; dy <= range; dy++) { for (int y = by; y "
          "< by + 8; y++) { for (int x = 0; x < w; x++) { int d = a[y * w + x] - padded[(y + "
          "dy + range) * w + x]; out[by] += d * d; } } } } delete[] padded;"));
  for (const char* read : {"in[(i + k + n) % n]", "(i + k < 0 || i + k >= n ? 0.f : in[i + k])",
                           "in[i + k < 0 ? 0 : i + k >= n ? n - 1 : i + k]"})
    EXPECT_TRUE(Fits(kPadded, Sum(std::string("s += ") + read + ";"))) << read;
  EXPECT_THAT(By(kPadded,
                 "static float at(const float* p, int i, int n) { return i < 0 || i >= n ? 0 : "
                 "p[i]; } " +
                     Sum("s += at(in, i + k, n) * at(in, i + k + 1, n);")),
              HasSubstr("s += padded[i + k + 2] * padded[i + k + 3];"));
}

TEST_F(RewriteTest, NeighboursThatAreReadOneByOneArePadded) {
  const std::string held =
      "static int held(int v, int end) { return v < 0 ? 0 : v < end ? v : end - 1; } void f(const "
      "float* a, float* b, int n) { for (int i = 0; i < n; i++) { ";
  EXPECT_THAT(
      By(kPadded, held + "b[i] = a[held(i - 1, n)] + a[held(i, n)] + a[held(i + 1, n)]; } }"),
      HasSubstr("float* padded = new float[(n + 2)]; for (int u = -1; n + 1 > u; u++) "
                "padded[u + 1] = a[held(u, n)]; for (int i = 0; i < n; i++) { b[i] = padded[i] + "
                "padded[i + 1] + padded[i + 2]; } delete[] padded;"));
  EXPECT_FALSE(Fits(kPadded, held + "b[i] = a[held(i - 1, n)] + a[held(i + 1, n)]; } }"))
      << "to make the copy takes as long";
}

TEST_F(RewriteTest, WhatCannotBeReadBeforeIsNotPadded) {
  for (const char* turn :
       {"int x = i + k; if (x >= 0 && x < n) { s += in[x]; break; }",
        "int x = i + k; if (x >= 0 && x < n && s < 9) { s += in[x]; }",
        "int x = i + k; if (x >= 0 && x < n) { s += in[x]; } else { s += 1; }",
        "int x = i + k; if (x >= 0 && x < n) { s += out[x]; }",
        "int x = i + k; if (x >= 0 && in[x] > 0) { s += in[x]; }",
        "if (i >= 2) { s += in[i - 2]; }", "s += in[i + k];",
        "static int t = 0; s += in[i + k < 0 ? t++ : i + k];", "s += in[i + k < s ? 0 : i + k];"})
    EXPECT_FALSE(Fits(kPadded, Sum(turn))) << turn;
  EXPECT_FALSE(Fits(kPadded,
                    "int g(int); void f(const int* a, int* b, int n) { for (int i = 0; i < n; i++) "
                    "for (int k = 0; k < 3; k++) b[i] += a[g(i + k)]; }"))
      << "no one knows what g does";
  EXPECT_FALSE(Fits(kPadded,
                    "int f(const int* a, int n) { int s = 0; for (int i = 0; i < n; i++) for (int "
                    "k = 0; k < 3; k++) { s += a[(i + k) % n]; if (s < 0) return 1; } return s; }"))
      << "the copy would stay behind";
}

// A picture's sums of 3 by 3, `row` done for each dy.
std::string Picture(const std::string& row) {
  return "static int held(int v, int last) { return v < 0 ? 0 : v > last ? last : v; } void "
         "f(const "
         "float* in, float* out, int h, int w) { for (int y = 0; y < h; y++) for (int x = 0; x < "
         "w; "
         "x++) { float s = 0; for (int dy = -1; dy <= 1; dy++) { int yy = y + dy; " +
         row + " } out[y * w + x] = s; } }";
}

TEST_F(RewriteTest, WhatGuardsThePaddedFromFurtherOutIsMaskedToo) {
  const std::string inner =
      "for (int dx = -1; dx <= 1; dx++) { int xx = x + dx; if (xx >= 0 && xx < w) s += in[yy * w + "
      "xx]; }";
  const std::string held =
      "for (int dx = -1; dx <= 1; dx++) { int xx = held(x + dx, w - 1); s += in[yy * w + xx]; }";
  const std::string guard = "if (yy >= 0 && yy < h) ";
  EXPECT_THAT(By(kPadded, Picture(guard + "{ " + inner + " }")),
              HasSubstr("= u >= 0 && u < h && vv >= 0 && vv < w ? in[u * w + vv] : 0;"));
  EXPECT_THAT(By(kPadded, Picture(guard + held)),
              HasSubstr("= u >= 0 && u < h ? in[u * w + (held(vv, (w - 1)))] : 0;"));
  EXPECT_THAT(By(kPadded, Sum("if (n > 7) { if (i + k >= 0 && i + k < n) s += in[i + k]; }")),
              HasSubstr("= n > 7 && u >= 0 && u < n ? in[u] : 0;"));
  for (const std::string& before :
       {std::string("if (yy < 0 || yy >= h) continue; "), std::string("if (yy >= h) break; "),
        std::string("if (in[yy] > 0) "), std::string("if (yy < 0) s++; else "),
        std::string("while (s < 9) ")}) {
    EXPECT_FALSE(Fits(kPadded, Picture(before + inner))) << before;
    EXPECT_FALSE(Fits(kPadded, Picture(before + held))) << before;
  }
  for (const char* turn :
       {"s += in[(i + k) % n]; if (in[i] > s) break;", "s += s > 0 && in[(i + k) % n] > 0;",
        "if (s > 0) s += in[(i + k) % n];"})
    EXPECT_FALSE(Fits(kPadded, Sum(turn))) << turn;
}

TEST_F(RewriteTest, WhatAGuardKeepsFromFaultsIsNotPadded) {
  for (const char* turn :
       {"int x = i + k; if (x >= 0 && x < n) s += in[x] * (8 / x);",
        "int x = i + k; if (x >= 0 && x < n) s += in[x] * w[x / 2 + k];",
        "s += k <= i ? in[i - k] : 0;",
        "int x = i + k; if (x >= 0 && x < n) s += in[x] + (x > 3 ? w[k + 2] : 0);",
        "if (i - k >= 2 && k < 2) s += in[i - k] * w[k + 2];",
        "if (i - k > n) s += in[i - k] * w[i];"})
    EXPECT_FALSE(Fits(kPadded, Sum(turn))) << turn;
  EXPECT_TRUE(Fits(kPadded, Sum("int x = i + k; if (x >= 0 && x < n) s += (in[x] - w[i]) * 2;")))
      << "there is a turn with k = 0";
  const auto filter = [](const std::string& last) {
    return "void f(const float* in, const float* c, float* out, int n, int m) { for (int i = 0; i "
           "< "
           "n; i++) { float s = 0; for (int k = 0; k < " +
           last + "; k++) if (i - k >= 0) s += in[i - k] * c[k]; out[i] = s; } }";
  };
  EXPECT_TRUE(Fits(kPadded, filter("n")));
  EXPECT_TRUE(Fits(kPadded, filter("5")));
  EXPECT_FALSE(Fits(kPadded, filter("m"))) << "c may end where in does";
}

TEST_F(RewriteTest, LoopsWithoutTurnsPadNothing) {
  EXPECT_THAT(
      By(kPadded,
         "void f(const int* in, int* out, int n, int m) { for (int i = 0; i < n; i++) for "
         "(int k = 1; k <= m; k++) out[i] += in[(i + k) % n]; }"),
      HasSubstr("if (n > 0) { int* padded = new int[m > 0 ? (m + n - 1) : 0]; if (m > 0) for (int "
                "u = 1; m + n > u; u++) padded[u - 1] = in[u % n]; for (int i = 0;"));
  EXPECT_FALSE(Fits(kPadded, Sum("for (int j = 0; j < in[i]; j++) s += in[(i + k) % n];")));
  EXPECT_THAT(By(kPadded, Sum("for (int j = 0; j < i; j++) s += in[(j + k) % n];")),
              HasSubstr("float s = 0; { float* padded = new float[i > 0 ? (i + 4) : 0];"));
  EXPECT_FALSE(Fits(kPadded, Sum("s += in[(17 * i + k) % n];")));
  EXPECT_TRUE(Fits(kPadded, Sum("s += in[(16 * i + k) % n];")));
  EXPECT_THAT(By(kPadded, Sum("s += in[(i + k + 0x100000000L) % n];")),
              HasSubstr("padded[u + 2] = in[(u + 0x100000000L) % n];"))
      << "no sum is taken apart whose numbers may overflow";
}

TEST_F(RewriteTest, WhatIsPaddedInWhatIsPaddedIsReplacedOnce) {
  EXPECT_THAT(By(kPadded,
                 "void f(const float* lut, const int* b, float* out, int n) { for (int i = "
                 "0; i < n; i++) for (int k = -1; k < 2; k++) { int x = i + k; if (x >= 0 "
                 "&& x < n) out[0] += 1, out[i] += lut[b[x]]; } }"),
              "");
  const std::string in_table =
      By(kPadded,
         "void f(const float* lut, const int* b, float* out, int n) { for (int i = 0; i < n; "
         "i++) { float s = 0; for (int k = -1; k < 2; k++) { int x = i + k; if (x >= 0 && x "
         "< n) s += lut[b[x]]; } out[i] = s; } }");
  EXPECT_THAT(in_table, HasSubstr("padded[u + 1] = u >= 0 && u < n ? lut[b[u]] : 0;"));
  EXPECT_THAT(in_table, HasSubstr("{ s += padded[i + k + 1]; }"));
  EXPECT_THAT(By(kPadded, Sum("int x = i + k; float c = 0; if (x >= 0 && x < n) { s += in[x]; c += "
                              "(x > 3 ? 1.f : 0) + 1; } s += c;")),
              HasSubstr("c += ((x > 3 ? 1.f : 0) + 1) * padded2[i + k + 2];"))
      << "with x still there";
  EXPECT_FALSE(Fits(kPadded, Sum("float c = 0; if (i + k >= 0 && i + k < n) { s += in[i + k]; c += "
                                 "(i + k > 3 ? w[k + 2] : 0) + 1; } s += c;")));
  const std::string out =
      By(kPadded, Sum("float v = in[(i + k + n) % n]; s += v > 0 ? w[(i + k + n) % n] : 0;"));
  EXPECT_THAT(out, HasSubstr("{ s += padded"));
  EXPECT_THAT(out, Not(HasSubstr("float v =")));
}

TEST_F(RewriteTest, WhatIsPaddedStaysInABlockOfItsOwn) {
  EXPECT_THAT(By(kPadded, Sum("if (i - k >= 0) { float v = in[i - k]; s += v; } if (i + k < n) { "
                              "float v = in[i + k]; s += v; }")),
              HasSubstr("{ float v = padded[i + 2 - k]; s += v; } { float v = padded2[i + k + 2]; "
                        "s += v; }"));
  const std::string loop =
      "for (int i = 0; i < 8; i++) for (int k = 0; k < 3; k++) out[i] += in[(i + k) % n]; break; ";
  EXPECT_THAT(By(kPadded,
                 "void f(const int* in, int* out, int n, int mode) { switch (mode) { case "
                 "0: out[0] = 1; " +
                     loop + "case 2: " + loop + "} }"),
              HasSubstr("out[0] = 1; { int* padded"));
}

TEST_F(RewriteTest, WhatATableCannotHoldIsNotPadded) {
  const std::string sum =
      " for (int i = 0; i < n; i++) for (int k = 0; k < 3; k++) { auto [lo, hi] = r[i]; ";
  const std::string head =
      "struct R { int lo, hi; }; enum Hue { kRed, kBlue }; void f(const R* r, "
      "const Hue* hues, const int* in, int* out, int n) {";
  EXPECT_FALSE(Fits(kPadded, head + sum + "out[i] += in[i + k < lo ? lo : i + k]; } }"));
  EXPECT_FALSE(Fits(kPadded, head + sum + "out[i] += in[(i + k) ?: 1]; } }"));
  EXPECT_FALSE(Fits(kPadded, head + sum + "out[i] += hues[(i + k) % n]; } }"));
  EXPECT_TRUE(Fits(kPadded, head + sum + "out[i] += in[(i + k) % n]; } }"));
}

TEST_F(RewriteTest, LoopsInALoopOfTooManyTablesArePadded) {
  EXPECT_TRUE(
      Fits(kPadded,
           "void f(const int* a, const int* b, const int* c, const int* d, const int* e, int* out, "
           "int n) { for (int r = 0; r < 4; r++) { for (int i = 0; i < n; i++) for (int k = 0; k < "
           "3; k++) out[r] += a[(i + k) % n] + b[(i + k) % n] + c[(i + k) % n]; for (int i = 0; i "
           "< n; i++) for (int k = 0; k < 3; k++) out[r] += d[(i + k) % n] + e[(i + k) % n]; } }"));
}

}  // namespace
}  // namespace whetstone
