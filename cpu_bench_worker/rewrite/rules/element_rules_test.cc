// What is computed of elements, once for each.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

constexpr char kElements[] = "computed once for each element";

std::string Stack(const std::string& value) {
  return "void f(const float* onset, const int* shift, double* out, int n, int m, float floor) { "
         "for (int t = 0; t < n; t++) { double sum = 0; for (int s = 0; s < m; s++) { int at = t + "
         "shift[s]; sum += " +
         value + "; } out[t] = sum; } }";
}

TEST_F(RewriteTest, AFunctionOfAnElementIsComputedOnceForEach) {
  const std::string made =
      By(kElements, Stack("log(onset[s * n + at] + floor)"), {{"onset", "(long)(n) * (m)"}});
  EXPECT_THAT(made, HasSubstr("const long elements = (long)(n) * (m);"));
  EXPECT_THAT(made, HasSubstr("for (long k = 0; k < elements; k++) { table[k] = log(onset[k] + "
                              "floor); }"));
  EXPECT_THAT(made, HasSubstr("sum += table[s * n + at];"));
  EXPECT_THAT(made, HasSubstr("delete[] table;"));
}

TEST_F(RewriteTest, WhatNeedsMoreThanTheElementIsNot) {
  const std::map<std::string, std::string> lengths = {{"onset", "n"}, {"out", "n"}};
  EXPECT_EQ(By(kElements, Stack("log(onset[at])")), "") << "nobody knows how long it is";
  for (const char* value : {"log(onset[at] + t)", "log(onset[at] + onset[s])", "log(out[at])",
                            "onset[at] * 2", "log(onset[at] + at)"})
    EXPECT_EQ(By(kElements, Stack(value), lengths), "") << value;
  EXPECT_EQ(By(kElements,
               "void f(const float* onset, double* out, int n) { for (int i = 0; i < n; i++) "
               "out[i] = log(onset[i]); }",
               lengths),
            "")
      << "each is asked once";
}

}  // namespace
}  // namespace whetstone
