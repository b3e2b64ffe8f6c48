// Rules of distances: comparisons without roots, and the turn that is left out.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

constexpr char kRoots[] = "compared without roots";

// f goes through all n points, and computes dx and dy for each.
std::string Points(const std::string& before, const std::string& turn, const std::string& after) {
  return "float f(const float* x, const float* y, float px, float py, float radius, int n) { " +
         before +
         " for (int i = 0; i < n; i++) { const float dx = x[i] - px; const float dy = y[i] - py; " +
         turn + " } " + after + " }";
}

TEST_F(RewriteTest, ADistanceIsComparedWithoutItsRoot) {
  EXPECT_THAT(By(kRoots, Points("float c = 0;",
                                "const float d = sqrtf(dx * dx + dy * dy); if (d < radius) c += 1;",
                                "return c;")),
              HasSubstr("const float d = (dx * dx + dy * dy); if (d < radius * radius) c += 1;"));
  EXPECT_THAT(By(kRoots, Points("float c = 0;", "if (radius + 1 >= hypotf(dx, dy - 1)) { c += 1; }",
                                "return c;")),
              HasSubstr("if ((radius + 1) * (radius + 1) >= (dx * dx + (dy - 1) * (dy - 1)))"));
  EXPECT_THAT(
      By(kRoots, Points("float c = 0;", "if (sqrtf(dx) < sqrtf(dy)) { c += 1; }", "return c;")),
      HasSubstr("if ((dx) < (dy))"));
}

TEST_F(RewriteTest, TheBestDistanceIsSquaredUntilItIsFound) {
  EXPECT_THAT(By(kRoots, Points("float best = 1e30f;",
                                "const float d = sqrtf(dx * dx + dy * dy); if (d < best) best = d;",
                                "return best;")),
              testing::AllOf(
                  HasSubstr("float best = 1e30f * 1e30f;"),
                  HasSubstr("const float d = (dx * dx + dy * dy); if (d < best) best = d; } "
                            "best = best == 1e30f * 1e30f ? 1e30f : sqrtf(best); return best;")));
  EXPECT_THAT(
      By(kRoots, Points("float far = -1.0f;", "far = fmaxf(far, sqrtf(dx * dx));", "return far;")),
      HasSubstr("float far = -1.0f; for (int i = 0; i < n; i++) { const float dx = x[i] - "
                "px; const float dy = y[i] - py; far = fmaxf(far, (dx * dx)); } far = "
                "far == -1.0f ? -1.0f : sqrtf(far);"));
  EXPECT_THAT(
      By(kRoots, Points("float best = 9; float second = INFINITY;",
                        "const float d = sqrtf(dx * dx); if (d < best) { second = best; best = d; "
                        "} else if (d < second) { second = d; }",
                        "return best / second;")),
      HasSubstr("} second = sqrtf(second); best = best == (float)9 * (float)9 ? 9 : sqrtf(best); "
                "return best / "
                "second;"));
}

TEST_F(RewriteTest, SquaresAreNumbersOfTheRootsType) {
  EXPECT_THAT(By(kRoots,
                 "double f(const double* x, int n, int k) { double best = 100000; for (int i "
                 "= 0; i < n; i++) { if (sqrt(x[i]) < k) best = best < sqrt(x[i]) ? best : "
                 "sqrt(x[i]); } return best; }"),
              testing::AllOf(HasSubstr("double best = (double)100000 * (double)100000;"),
                             HasSubstr("if ((x[i]) < (double)k * (double)k)")));
  EXPECT_THAT(
      By(kRoots, Points("float best = 1e30;", "const float d = sqrtf(dx); if (d < best) best = d;",
                        "return best;")),
      HasSubstr("float best = (float)1e30 * (float)1e30;"));
}

TEST_F(RewriteTest, ARootWithinAComparedValueStays) {
  EXPECT_THAT(
      By(kRoots, Points("float c = 0;", "if (fminf(sqrtf(dx), sqrtf(dy)) < radius) { c += 1; }",
                        "return c;")),
      HasSubstr("if (fminf((dx), (dy)) < radius * radius)"));
  for (const char* turn :
       {"if (sqrtf(dx) < (sqrtf(dy) < radius ? 1.0f : 2.0f)) { c += 1; }",
        "if ((dx > 0 ? sqrtf(dx) : 1.0f) < radius) { c += 1; }",
        "const float d = sqrtf(dx); auto add = [&] { c += d; }; if (d < radius) { add(); }"})
    EXPECT_THAT(By(kRoots, Points("float c = 0;", turn, "return c;")),
                testing::AnyOf("", HasSubstr("(dy) < radius * radius ? 1.0f : 2.0f")))
        << turn;
  EXPECT_EQ(
      By(kRoots, Points("float c = 0;", "if (sqrtf(sqrtf(dx)) < radius) { c += 1; }", "return c;")),
      "");
}

TEST_F(RewriteTest, ARootThatIsNeededStays) {
  const std::string distance = "const float d = sqrtf(dx * dx + dy * dy); ";
  for (const std::string turn : {"c += d;", "if (d < radius) c += d;", "if (d < c) c = d + 1;",
                                 "c = d < radius ? d : dx;", "if (d < radius--) c += 1;"})
    EXPECT_EQ(By(kRoots, Points("float c = 0;", distance + turn, "return c;")), "") << turn;
  EXPECT_EQ(By(kRoots, Points("float best = 9;", distance + "if (d < best) best = d; best -= 1;",
                              "return best;")),
            "");
  EXPECT_EQ(By(kRoots, Points("float best = 9; best -= radius;",
                              distance + "if (d < best) best = d;", "return best;")),
            "")
      << "it changes before the search";
  // Another root can do without.
  EXPECT_THAT(By(kRoots, Points("float c = 0;", distance + "if (sqrtf(dx) < radius) { c += d; }",
                                "return c;")),
              HasSubstr("const float d = sqrtf(dx * dx + dy * dy); if ((dx) < radius * radius)"));
}

TEST_F(RewriteTest, OneTurnIsLeftOut) {
  const std::string rule = "one turn left out";
  const auto pairs = [](const std::string& head, const std::string& turn) {
    return "int f(const int* a, int n, int k) { int s = 0; for (int i = 0; i < n; i++) { " + head +
           " { " + turn + " } } return s; }";
  };
  EXPECT_THAT(
      By(rule, pairs("for (int j = 0; j < n; j++)", "if (i == j) { continue; } s += a[j];")),
      HasSubstr("for (int j = 0; j < i; j++) { s += a[j]; } for (int j = i + 1; j < n; "
                "j++) { s += a[j]; }"));
  EXPECT_THAT(By(rule, pairs("for (int j = 1; j <= n - 1; j++)", "if (j != k) { s += a[j]; }")),
              HasSubstr("const int until = k < (n - 1) + 1 ? k : (n - 1) + 1; for (int j = 1; j < "
                        "until; j++) { s += a[j]; } for (int j = (k < 1 ? 1 : k + 1); j < (n - 1) "
                        "+ 1; j++) { s += a[j]; }"));
  for (const char* turn :
       {"if (i == j) { continue; } if (a[j] < 0) { break; } s += a[j];",
        "if (j == k) { continue; } k += a[j];", "if (j == a[j]) { continue; } s += a[j];",
        "if (j > i) { continue; } s += a[j];", "if (j == (unsigned)k) { continue; } s += a[j];"})
    EXPECT_EQ(By(rule, pairs("for (int j = 0; j < n; j++)", turn)), "") << turn;
}

}  // namespace
}  // namespace whetstone
