// Rules of rows: vectors of vectors.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

// As much of it as the programs below need.
constexpr char kVector[] =
    "namespace std { template <class T> struct vector { vector(size_t n, const T& value = T()); "
    "vector(); vector(const vector&); vector(vector&&); ~vector(); T& operator[](size_t i); const "
    "T& operator[](size_t i) const; void swap(vector&); }; }\n";

// The edit distance, as it is written by hand.
constexpr char kDistance[] =
    "int f(const char* a, const char* b, int n, int m) { std::vector<std::vector<int>> d(n + 1, "
    "std::vector<int>(m + 1)); for (int i = 0; i <= n; i++) { d[i][0] = i; } for (int j = 0; j <= "
    "m; j++) d[0][j] = j; for (int i = 1; i <= n; i++) { for (int j = 1; j <= m; j++) { int c = "
    "d[i - 1][j - 1] + (a[i - 1] != b[j - 1]); d[i][j] = c < d[i][j - 1] + 1 ? c : d[i][j - 1] + "
    "1; } } return d[n][m]; }";

TEST_F(RewriteTest, RowsLieInOneArray) {
  EXPECT_THAT(By("rows in one array", std::string(kVector) + kDistance),
              testing::AllOf(HasSubstr("const int width = m + 1; std::vector<int> d((n + 1) * "
                                       "width); for (int i = 0; i <= n; i++) { d[i * width + 0] "
                                       "= i; }"),
                             HasSubstr("int c = d[(i - 1) * width + (j - 1)] + "),
                             HasSubstr("return d[n * width + m];")));
  EXPECT_EQ(By("rows in one array",
               std::string(kVector) +
                   "void g(std::vector<int>&); int f(int n) { std::vector<std::vector<int>> d(n, "
                   "std::vector<int>(n, 1)); g(d[0]); return d[0][0]; }"),
            "")
      << "a row goes elsewhere";
}

TEST_F(RewriteTest, OnlyTwoRowsAreKept) {
  EXPECT_THAT(
      By("two rows", std::string(kVector) + kDistance),
      testing::AllOf(HasSubstr("std::vector<int> before(m + 1); std::vector<int> row(m + 1); "
                               "before[0] = 0;"),
                     HasSubstr("for (int j = 0; j <= m; j++) before[j] = j;"),
                     HasSubstr("for (int i = 1; i <= n; i++) { row[0] = i; for (int j = 1;"),
                     HasSubstr("int c = before[j - 1] + (a[i - 1] != b[j - 1]);"),
                     HasSubstr("before.swap(row); } return before[m];")));
  EXPECT_EQ(By("two rows",
               std::string(kVector) +
                   "int f(int n) { std::vector<std::vector<int>> d(n, std::vector<int>(n, 1)); for "
                   "(int i = 1; i < n; i++) for (int j = 0; j < n; j++) d[i][j] = d[i - 1][j] + "
                   "d[i / 2][j]; return d[n - 1][0]; }"),
            "")
      << "rows further back are needed";
}

}  // namespace
}  // namespace whetstone
