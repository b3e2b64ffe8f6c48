#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

constexpr char kBorder[] = "the border apart";

std::string Plate(const std::string& turn, const std::string& columns = "int x = 0; x < w; x++") {
  return "void f(const float* a, float* b, int h, int w, int r) { for (int y = 0; y < h; y++) { "
         "for "
         "(" +
         columns + ") { const int c = y * w + x; " + turn + " } } }";
}

TEST_F(RewriteTest, TheBorderHasLoopsOfItsOwn) {
  const std::string inside =
      "for (int y = 0 + 1; y < h - 1; y++) { for (int x = 0 + 1; x < w - 1; x++) { const int c = y "
      "* w + x; b[c] = a[c - w] + a[c + 1]; } }";
  const std::string border =
      "for (int y = 0; y < h; y++) { for (int x = 0; x < w; x++) { const int c = y * w + x; if (x "
      "== "
      "0 || y == 0 || x == w - 1 || y == h - 1) { b[c] = a[c]; } } } ";
  const std::string condition = "if (x == 0 || y == 0 || x == w - 1 || y == h - 1) ";
  EXPECT_THAT(By(kBorder, Plate(condition + "{ b[c] = a[c]; continue; } b[c] = a[c - w] + a[c + "
                                            "1];")),
              HasSubstr(border + inside));
  EXPECT_THAT(
      By(kBorder, Plate(condition + "{ b[c] = a[c]; } else { b[c] = a[c - w] + a[c + 1]; }")),
      HasSubstr(border + inside));
}

TEST_F(RewriteTest, ABorderIsAsWideAsItsComparisonsSay) {
  EXPECT_THAT(
      By(kBorder, Plate("if (y < r || w - r <= x) { b[c] = 0; continue; } b[c] = a[c - r];")),
      HasSubstr("for (int y = (0 > r ? 0 : r); y < h; y++) { for (int x = 0; x < (w < (w - r) ? w "
                ": (w - r)); x++) {"));
  EXPECT_THAT(
      By(kBorder, Plate("if (x <= 1 || x > w - 3) { b[c] = 0; } else { b[c] = a[c - 2]; }")),
      HasSubstr("for (int x = (0 > (1 + 1) ? 0 : (1 + 1)); x < (w < ((w - 3) + 1) ? w : ((w - 3) + "
                "1)); x++) {"));
  EXPECT_THAT(By(kBorder, Plate("if (x == 1 || x == w) { b[c] = 0; } else { b[c] = a[c - 1]; }",
                                "int x = 1; x <= w; x++")),
              HasSubstr("for (int x = 1 + 1; x <= w - 1; x++) {"));
}

TEST_F(RewriteTest, WhatIsNoBorderStaysTogether) {
  for (const char* turn :
       {"if (x == 0 && y == 0) { b[c] = 0; continue; } b[c] = a[c];",
        "if (x == 2) { b[c] = 0; continue; } b[c] = a[c];",
        "if (x == y) { b[c] = 0; continue; } b[c] = a[c];",
        "if (a[c] < 0) { b[c] = 0; continue; } b[c] = a[c];",
        "if (x == 0) { b[c] = 0; break; } b[c] = a[c];", "if (x == 0) { b[c] = 0; } b[c] += a[c];",
        "if (x < 1 || x < r) { b[c] = 0; } else { b[c] = a[c]; }"})
    EXPECT_EQ(By(kBorder, Plate(turn)), "") << turn;
}

}  // namespace
}  // namespace whetstone
