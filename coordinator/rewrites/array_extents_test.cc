#include "coordinator/rewrites/array_extents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace whetstone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr char kRows[] = R"(#include <cmath>
struct Pixel { float r, g; };
static float level(const Pixel& p) { return std::sqrt(p.r * p.g); }
void rows(const Pixel* a, float* out, int h, int w, int bias) {
    for (int y = 0; y < h; y++) {
        out[y] = bias;
        for (int x = 0; x < w; x++) out[y] += level(a[y * w + x]);
    }
}
)";

// Asks the real program, with the source's own includes and structs.
TEST(ArrayExtentsTest, LoopsSayHowLongArraysAre) {
  const auto extents = ArrayExtentsOf(kRows, {"cmath"}, "rows");
  ASSERT_TRUE(extents.ok()) << extents.status();
  EXPECT_THAT(extents->arrays, ElementsAre(Pair("a", "h*w"), Pair("out", "h")));
  EXPECT_THAT(extents->sizes, ElementsAre("h", "w"));
}

TEST(ArrayExtentsTest, AFunctionThatDoesNotParseIsRefused) {
  const auto extents = ArrayExtentsOf("void rows(int n) { n = ; }", {}, "rows");
  EXPECT_EQ(extents.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(extents.status().message()), HasSubstr("expected expression"));
}

}  // namespace
}  // namespace whetstone
