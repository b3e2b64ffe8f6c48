#include "coordinator/authoring/mutants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Changes(const std::string& code, Mutant::Kind kind) {
  std::vector<std::string> changes;
  for (const Mutant& mutant : MakeMutants(code, 99, 99)) {
    if (mutant.kind == kind) changes.push_back(absl::StrCat(mutant.line, ": ", mutant.change));
  }
  return changes;
}

constexpr char kSum[] = R"(#include <cmath>
#define LIMIT 7
// for (int i = 0; i < 9; ++i) if (x)
float sum(const float* a, int n) {
  float s = 0.5f;
  for (int i = 0; i < n; ++i) {
    if (a[i] > s) s += a[i];
  }
  return s;
}
)";

TEST(MutantsTest, ConditionsAreAskedForBothValues) {
  EXPECT_THAT(Changes(kSum, Mutant::Kind::kReach),
              ElementsAre("6: 'i < n' is never true", "7: 'a[i] > s' is never true",
                          "7: 'a[i] > s' is never false"));
}

TEST(MutantsTest, BoundsBranchesAndNumbersChange) {
  EXPECT_THAT(Changes(kSum, Mutant::Kind::kWrong),
              ElementsAre("5: '0.5f' is '0.5f * 1.01f'", "6: 'i < n' ends one earlier",
                          "6: '0' is '0 + 1'", "7: 'if (a[i] > s)' is left out"));
}

TEST(MutantsTest, OneChangeEachAndTheRestAsItWas) {
  for (const Mutant& mutant : MakeMutants(kSum, 99, 99)) {
    EXPECT_NE(mutant.source, kSum);
    EXPECT_THAT(mutant.source, HasSubstr("// for (int i = 0; i < 9; ++i) if (x)\n"));
    if (absl::StrContains(mutant.change, "ends one earlier")) {
      EXPECT_THAT(mutant.source, HasSubstr("for (int i = 0;i < (n) - 1; ++i) {"));
    }
    if (mutant.change == "'a[i] > s' is never false") {
      EXPECT_THAT(mutant.source, HasSubstr("if ((a[i] > s) || whet_reached()) s += a[i];"));
    }
  }
}

TEST(MutantsTest, WhatIsNoComparisonHasNoBound) {
  const char loops[] =
      "void f(int n, int* a) {\n"
      "  for (int i = n; i >= 2 ; --i) a[3] = 1'000;\n"
      "  for (int i = 0; i << 1 != n && i < 4; ++i) a[i] = 0x1f;\n"
      "  for (int& x : a) x = 0;\n"
      "  for (;;) break;\n"
      "  while (n > 1) n /= 2;\n"
      "}\n";
  EXPECT_THAT(Changes(loops, Mutant::Kind::kReach),
              ElementsAre("2: 'i >= 2' is never true", "3: 'i << 1 != n && i < 4' is never true",
                          "6: 'n > 1' is never true"));
  std::vector<std::string> bounds;
  for (const std::string& change : Changes(loops, Mutant::Kind::kWrong)) {
    if (absl::StrContains(change, "earlier")) bounds.push_back(change);
  }
  EXPECT_THAT(bounds, ElementsAre("2: 'i >= 2' ends one earlier"));
}

TEST(MutantsTest, CasesAreReachedOrNot) {
  const char choice[] =
      "int f(int x) {\n"
      "  switch (x) {\n"
      "    case 'a': return 1;\n"
      "    case E::kB: return 2;\n"
      "    default: return 3;\n"
      "  }\n"
      "}\n";
  EXPECT_THAT(Changes(choice, Mutant::Kind::kReach),
              ElementsAre("3: 'case 'a'' is never reached", "4: 'case E::kB' is never reached",
                          "5: 'default' is never reached"));
}

TEST(MutantsTest, ThereAreNoMoreThanAskedForAndTheyAreSpread) {
  std::string code = "int f() {\n  int x = 0;\n";
  for (int i = 0; i < 50; ++i) absl::StrAppend(&code, "  x += ", i, ";\n");
  absl::StrAppend(&code, "  return x;\n}\n");
  const std::vector<Mutant> mutants = MakeMutants(code, 5, 5);
  ASSERT_EQ(mutants.size(), 5u);
  EXPECT_LT(mutants[0].line, 5);
  EXPECT_GT(mutants[4].line, 35);
}

}  // namespace
}  // namespace whetstone
