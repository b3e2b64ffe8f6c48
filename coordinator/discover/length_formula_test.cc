#include "coordinator/discover/length_formula.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/problem/expression.h"

namespace whetstone {
namespace {

int64_t ValueAt(const std::string& formula, const Sizes& sizes) {
  return Expression::Parse(formula)->Evaluate(sizes).value();
}

// Returns what is found where `formula` gives the lengths.
std::string Found(const std::string& formula, const std::vector<std::string>& names) {
  std::vector<SeenLength> seen;
  for (const Sizes& sizes : SizesOf(names).all) seen.push_back({sizes, ValueAt(formula, sizes)});
  return LengthFormula(seen);
}

TEST(LengthFormulaTest, FormulasOfOneSizeAreFound) {
  for (const std::string formula : {"n", "n-1", "n+1", "2*n", "2*n+1", "n/2+1", "(n+7)/8", "n*n",
                                    "n*(n+1)/2", "3*n-2", "256", "16*n", "(n+63)/64"}) {
    EXPECT_EQ(Found(formula, {"n"}), formula);
  }
}

// Which of several that mean the same is found does not matter: they agree at other sizes too.
TEST(LengthFormulaTest, FormulasOfMoreSizesAreFound) {
  const struct {
    std::string formula;
    std::vector<std::string> names;
  } kCases[] = {{"h*w", {"h", "w"}},
                {"(h+2)*(w+2)", {"h", "w"}},
                {"h*((w+7)/8)", {"h", "w"}},
                {"4*h*((w+15)/16)", {"h", "w"}},
                {"(h-1)*w", {"h", "w"}},
                {"h+w-1", {"h", "w"}},
                {"h*(w/2+1)", {"h", "w"}},
                {"3*h*w", {"h", "w"}},
                {"((h+1)/2)*((w+1)/2)", {"h", "w"}},
                {"(n+step-1)/step", {"n", "step"}},
                {"n-k+1", {"n", "k"}},
                {"(n-k)/step+1", {"n", "k", "step"}},
                {"(h-1)*stride+w", {"stride", "h", "w"}},
                {"b*c*h*w", {"b", "c", "h", "w"}}};
  for (const auto& c : kCases) {
    const std::string found = Found(c.formula, c.names);
    ASSERT_NE(found, "") << c.formula;
    for (const int size : {20, 24, 33, 64, 95, 128}) {
      Sizes sizes;
      int smaller = 0;
      for (const std::string& name : c.names) sizes[name] = size - 5 * smaller++;
      EXPECT_EQ(ValueAt(found, sizes), ValueAt(c.formula, sizes)) << c.formula << " " << found;
    }
  }
}

TEST(LengthFormulaTest, WhatIsReadHasABound) {
  const SeenLength second = {{{"n", 37}, {"k", 23}}, 33}, third = {{{"n", 64}, {"k", 16}}, 64};
  EXPECT_EQ(LengthBound({{{{"n", 29}, {"k", 17}}, 26}, second, third}), "n");
  EXPECT_EQ(LengthBound({{{{"n", 29}, {"k", 17}}, 400}, second, third}), "");
  EXPECT_EQ(LengthBound({second, third}), "");
  EXPECT_EQ(
      LengthBound(
          {{{{"w", 9}, {"h", 7}}, 60}, {{{"w", 20}, {"h", 5}}, 99}, {{{"w", 3}, {"h", 5}}, 11}}),
      "h*w");
}

TEST(LengthFormulaTest, BlocksOfRowsHaveABound) {
  std::vector<SeenLength> whole, rows;
  for (const Sizes& sizes : SizesOf({"h", "stride", "w"}).all) {
    const int64_t high = (sizes.at("h") + 7) / 8, wide = (sizes.at("w") + 7) / 8;
    whole.push_back({sizes, high * wide - (sizes.at("h") % 2)});
    rows.push_back({sizes, (8 * high - 1) * sizes.at("stride") + 8 * wide});
  }
  EXPECT_EQ(LengthBound(whole), "((h+7)/8)*((w+7)/8)");
  EXPECT_EQ(LengthBound(rows), "(h+7)/8*8*stride+(w+7)/8*8");
}

TEST(LengthFormulaTest, WhereDataTellThereIsRoom) {
  const std::vector<SeenLength> seen = {
      {{{"n", 9}, {"k", 7}}, 60}, {{{"n", 20}, {"k", 5}}, 90}, {{{"n", 3}, {"k", 5}}, 0}};
  EXPECT_EQ(LengthRoom(seen, 2), "max(k,n)+256");
  EXPECT_EQ(LengthRoom({seen[0], seen[1]}, 2), "");
  EXPECT_TRUE(IsEnough("n*k", seen));
  EXPECT_FALSE(IsEnough("2*k+n", seen));
}

TEST(LengthFormulaTest, OneThatWasSeenTooSeldomOrFitsNothingIsNone) {
  EXPECT_EQ(LengthFormula({}), "");
  EXPECT_EQ(LengthFormula({{{{"n", 3}}, 3}, {{{"n", 5}}, 5}, {{{"n", 5}}, 5}}), "");
  EXPECT_EQ(LengthFormula({{{{"n", 3}}, 31}, {{{"n", 5}}, 12}, {{{"n", 7}}, 100}}), "");
  EXPECT_TRUE(SizesOf({"a", "b", "c", "d", "e", "f", "g"}).all.empty());
}

TEST(LengthFormulaTest, OfWhatIsOnlyReadSomeLengthsMayBeSeenShort) {
  std::vector<SeenLength> seen;
  for (const Sizes& sizes : SizesOf({"n", "m"}).all) {
    seen.push_back({sizes, sizes.at("m") * ((sizes.at("n") + 3) / 4)});
  }
  EXPECT_EQ(LengthFormulaOfRead(seen), LengthFormula(seen));
  const std::string right = LengthFormula(seen);
  EXPECT_NE(right, "");
  seen[0].length -= 1;
  seen[5].length -= 2;
  EXPECT_EQ(LengthFormula(seen), "");
  EXPECT_EQ(LengthFormulaOfRead(seen), right);
  seen[0].length += 2;
  EXPECT_EQ(LengthFormulaOfRead(seen), "") << "one is longer";
}

}  // namespace
}  // namespace whetstone
