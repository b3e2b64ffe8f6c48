#include "common/nearest.h"

#include <gtest/gtest.h>

#include <string>

namespace whetstone {
namespace {

TEST(EditDistanceTest, CountsEdits) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("shape", "shpae"), 1u) << "a swap of neighbours is one edit";
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance(std::string(1000, 'a'), std::string(1000, 'b')), 64u);
}

TEST(NearestTest, FindsTheClosest) {
  EXPECT_EQ(Nearest("shpe", {"type", "shape", "fill"}), "shape");
  EXPECT_EQ(Nearest("x", {"ab", "cd"}), "ab") << "the first of equals";
  EXPECT_EQ(Nearest("x", {}), "");
}

TEST(NearestTest, WhoMisspellsIsToldWhatThereIs) {
  EXPECT_EQ(DidYouMean("trianer", {"trainer", "whet"}),
            "; did you mean 'trainer'? There are: trainer, whet");
  EXPECT_EQ(DidYouMean("x", {}), "; there are none");
}

}  // namespace
}  // namespace whetstone
