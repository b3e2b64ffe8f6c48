// Rules of windows in two dimensions.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const char kByColumns[] = "a window by columns";

// A picture, `turn` done for each pixel.
std::string Pixels(const std::string& turn) {
  return "void f(const float* in, "
         "float* out, int h, int w, int r) { for (int y = 0; y < h; y++) { for (int x = 0; x < w; "
         "x++) { " +
         turn + " } } }";
}

TEST_F(RewriteTest, AWindowIsAddedUpByColumns) {
  EXPECT_THAT(
      By(kByColumns,
         Pixels("float s = 0; int n = 0; for (int dy = -2; dy <= 2; dy++) { for (int dx "
                "= -2; dx <= 2; dx++) { int yy = y + dy; int xx = x + dx; if (yy >= 0 "
                "&& yy < h && xx >= 0 && xx < w) { s += in[yy * w + xx]; n++; } } } "
                "out[y * w + x] = s / n;")),
      HasSubstr(
          "const int end = w + 2; float* const ss = new float[end > -2 ? end + 2 : 0]; int* const "
          "ns = new int[end > -2 ? end + 2 : 0]; for (int y = 0; y < h; y++) { for (int c = -2; c "
          "< end; c++) { ss[c + 2] = 0; ns[c + 2] = 0; } for (int dy = -2; dy <= 2; dy++) { for "
          "(int c = -2; c < end; c++) { int yy = y + dy; if (yy >= 0 && yy < h && c >= 0 && c < w) "
          "{ ss[c + 2] += in[yy * w + c]; ns[c + 2]++; } } } for (int x = 0; x < w; x++) { float s "
          "= 0; int n = 0; for (int dx = -2; dx <= 2; dx++) { s += ss[x + dx + 2]; n += ns[x + dx "
          "+ 2]; } out[y * w + x] = s / n; } } delete[] ss; delete[] ns;"));
  // Of unknown width, columns around rows, and a row that is left out.
  EXPECT_THAT(
      By(kByColumns,
         Pixels("float s = 0; for (int dx = 0; dx < r; dx++) { for (int dy = -r; dy <= r; dy++) { "
                "if (y + dy < 0) continue; s += in[(y + dy) * w + x + dx]; } } out[y] = s;")),
      HasSubstr("for (int c = 0; c < end; c++) { for (int dy = -r; dy <= r; dy++) { if (y + dy < "
                "0) continue; ss[c] += in[(y + dy) * w + c]; } } for (int x = 0; x < w; x++) { "
                "float s = 0; for (int dx = 0; dx < r; dx++) { s += ss[x + dx]; } out[y] = s; }"));
  EXPECT_THAT(
      By(kByColumns,
         Pixels("float s = 0; for (int dy = -r; dy <= r; dy++) { const float* row = in + (y + dy) "
                "* w; for (int dx = -r; dx <= r; dx++) s += row[x + dx]; } out[y * w + x] = s;")),
      HasSubstr("const int from = -r; const int end = w + r; float* const ss = new float[end > "
                "from ? end - from : 0];"));
}

TEST_F(RewriteTest, AWindowsExtremeIsTakenByColumns) {
  const std::string pool = By(
      kByColumns, Pixels("float m = in[y * w + x]; for (int p = y - 1; p <= y + 1; p++) for (int "
                         "q = x - 1; q <= x + 1; q++) if (p >= 0 && p < h && q >= 0 && q < w && "
                         "in[p * w + q] > m) m = in[p * w + q]; out[y * w + x] = m;"));
  EXPECT_THAT(pool, HasSubstr("const int from = 0 - 1; const int end = w - 1 + 1 + 1;"));
  EXPECT_THAT(pool, HasSubstr("ms[q - from] = -1.0f / 0.0f;"));
  EXPECT_THAT(pool, HasSubstr("for (int q = from; q < end; q++) { if (p >= 0 && p < h && q >= 0 && "
                              "q < w) ms[q - from] = in[p * w + q] > ms[q - from] ? in[p * w + q] "
                              ": ms[q - from]; }"));
  EXPECT_THAT(pool, HasSubstr("for (int q = x - 1; q <= x + 1; q++) { m = ms[q - from] > m ? ms[q "
                              "- from] : m; }"));
  EXPECT_THAT(By(kByColumns, Pixels("float m = 9; for (int p = 0; p < 3; p++) for (int q = 0; q < "
                                    "3; q++) { float v = in[(y + p) * w + x + q]; m = v < m ? v : "
                                    "m; } out[y * w + x] = m;")),
              HasSubstr("ms[c] = 9;"))
      << "with what every turn begins with";
  EXPECT_THAT(
      By(kByColumns,
         Pixels("float m = 0; for (int p = 0; p < 3; p++) for (int q = x; q < std::min(w, x + "
                "r); q++) m = std::max(m, in[p * w + q] * 2); out[y * w + x] = m;")),
      AllOf(
          HasSubstr("const int from = 0; const int end = std::min(w, w - 1 + r);"),
          HasSubstr("for (int q = x; q < std::min(w, x + r); q++) { m = ms[q - from] > m ? ms[q - "
                    "from] : m; }")));
}

TEST_F(RewriteTest, WhatDependsOnMoreThanItsColumnIsNotTakenByColumns) {
  for (const char* turn :
       {"for (int p = 0; p < 3; p++) for (int q = 0; q < 3; q++) s += in[(y + p) * w + x + q] * "
        "in[p * 3 + q];",
        "if (x < 1) continue; for (int p = 0; p < 3; p++) for (int q = -1; q < 2; q++) s += in[(y "
        "+ "
        "p) * w + x + q];",
        "for (int p = 0; p < 3; p++) for (int q = 0; q < 3; q++) s += in[(y + p) * w + x - q];",
        "for (int p = 0; p < 3; p++) for (int q = 0; q < 3; q++) s += in[(y + p) * w + x + 2 * q];",
        "for (int p = 0; p < 3; p++) for (int q = 0; q <= p; q++) s += in[(y + p) * w + x + q];",
        "for (int p = 0; p < 3; p++) for (int q = 0; q < 3; q++) s += in[(y + p) * w + q];",
        "for (int q = 0; q < 3; q++) s += in[y * w + x + q];",
        "float v = in[x]; for (int p = 0; p < 3; p++) for (int q = 0; q < 3; q++) s += in[(y + p) "
        "* w + x + q] * v;",
        "for (int p = 0; p < 3; p++) for (int q = 0; q < 3; q++) s += out[(y + p) * w + x + q];",
        "for (int p = 0; p < 3; p++) { s += 1; for (int q = 0; q < 3; q++) s += in[(y + p) * w + x "
        "+ q]; }",
        "for (int p = 0; p < 3; p++) for (int q = 0; q < 3; q++) { if (x + q > w) break; s += "
        "in[(y + p) * w + x + q]; }",
        "for (int p = 0; p < 3; p++) for (int q = 0; q < 3; q++) if (in[x + q] > s) s += in[(y + "
        "p) * w + x + q];"})
    EXPECT_FALSE(
        Fits(kByColumns, Pixels("float s = 0; " + std::string(turn) + " out[y * w + x] = s;")))
        << turn;
  EXPECT_FALSE(Fits(kByColumns,
                    "int f(const int* in, int h, int w) { for (int x = 0; x < w; x++) { int s = 0; "
                    "for (int p = 0; p < h; p++) for (int q = 0; q < 3; q++) s += in[p * w + x + "
                    "q]; if (s < 0) return x; } return 0; }"))
      << "the tables would stay behind";
}

TEST_F(RewriteTest, ColumnsMoveAlongWithTheirRows) {
  EXPECT_THAT(
      By("sums moved along",
         "void f(const int* in, int* out, int* sums, int h, int w) { for (int y = 0; y < h; y++) { "
         "for (int c = 0; c < w + 2; c++) { sums[c] = 0; } for (int dy = 0; dy < 3; dy++) { for "
         "(int c = 0; c < w + 2; c++) { sums[c] += in[(y + dy) * w + c]; } } for (int x = 0; x < "
         "w; x++) { out[y * w + x] = sums[x] + sums[x + 1]; } } }"),
      HasSubstr("for (int c = 0; c < w + 2; c++) { sums[c] = 0; } for (int y = 0; y < h; y++) { if "
                "(y == 0) { for (int dy = 0; dy < 3; dy++) { for (int c = 0; c < w + 2; c++) { "
                "sums[c] += in[(y + dy) * w + c]; } } } else { { for (int c = 0; c < w + 2; c++) { "
                "sums[c] += in[(y + 3 - 1) * w + c]; } } { for (int c = 0; c < w + 2; c++) { "
                "sums[c] -= in[(y - 1 + 0) * w + c]; } } }"));
  for (const char* turn :
       {"for (int c = 0; c < w; c++) { sums[c] = y; } for (int dy = 0; dy < 3; dy++) for (int c = "
        "0; c < w; c++) sums[c] += in[(y + dy) * w + c]; out[y] = sums[0];",
        "for (int c = 0; c < w; c++) { sums[c] = 0; } for (int dy = 0; dy < 3; dy++) for (int c = "
        "0; c < w; c++) sums[c] += in[(y + dy) * w + c]; sums[y] = 1;",
        "for (int c = 0; c < w; c++) { sums[c] = 0; } for (int dy = 0; dy < 3; dy++) for (int c = "
        "0; c < w; c++) sums[y + dy] += in[(y + dy) * w + c]; out[y] = sums[0];"})
    EXPECT_FALSE(Fits("sums moved along",
                      "void f(const int* in, int* out, int* sums, int h, int "
                      "w) { for (int y = 0; y < h; y++) { " +
                          std::string(turn) + " } }"))
        << turn;
}

}  // namespace
}  // namespace whetstone
