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

class ElementRulesTest : public RewriteTest {
 protected:
  // As By, where the lengths of arrays are known.
  static std::string With(const std::map<std::string, std::string>& lengths,
                          const std::string& source) {
    std::string refused;
    for (const Rewrite& each : RewriteProgram(kFlags, *pch_, "f", source, &refused, lengths)) {
      if (each.rule != kElements) continue;
      const ScreenFindings findings = ParseProgram(kFlags, *pch_, ScreenRules{}, each.source);
      EXPECT_THAT(findings.errors, testing::IsEmpty()) << each.source;
      std::string line;
      for (const char c : each.source)
        if (c != '\n' && c != ' ')
          line += c;
        else if (!line.empty() && line.back() != ' ')
          line += ' ';
      return line;
    }
    return "";
  }
};

TEST_F(ElementRulesTest, AFunctionOfAnElementIsComputedOnceForEach) {
  const std::string made =
      With({{"onset", "(long)(n) * (m)"}}, Stack("log(onset[s * n + at] + floor)"));
  EXPECT_THAT(made, HasSubstr("const long elements = (long)(n) * (m);"));
  EXPECT_THAT(made, HasSubstr("for (long k = 0; k < elements; k++) { table[k] = log(onset[k] + "
                              "floor); }"));
  EXPECT_THAT(made, HasSubstr("sum += table[s * n + at];"));
  EXPECT_THAT(made, HasSubstr("delete[] table;"));
}

TEST_F(ElementRulesTest, WhatNeedsMoreThanTheElementIsNot) {
  const std::map<std::string, std::string> lengths = {{"onset", "n"}, {"out", "n"}};
  EXPECT_EQ(With({}, Stack("log(onset[at])")), "") << "nobody knows how long it is";
  for (const char* value : {"log(onset[at] + t)", "log(onset[at] + onset[s])", "log(out[at])",
                            "onset[at] * 2", "log(onset[at] + at)"})
    EXPECT_EQ(With(lengths, Stack(value)), "") << value;
  EXPECT_EQ(With(lengths,
                 "void f(const float* onset, double* out, int n) { for (int i = 0; i < n; i++) "
                 "out[i] = log(onset[i]); }"),
            "")
      << "each is asked once";
}

}  // namespace
}  // namespace whetstone
