#include "cpu_bench_worker/timing/recorded_timings.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

TEST(RecordedTimingsTest, ComeBackToAHundredthOfAPercent) {
  RecordedTimings timings;
  timings.truth = 1.5;
  timings.sizes = {{{1.0, 0.5}, {}}, {{2.25}}};
  const auto back = DecodeTimings(EncodeTimings(timings));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_NEAR(back->truth, 1.5, 1.5e-4);
  ASSERT_EQ(back->sizes.size(), 2u);
  ASSERT_EQ(back->sizes[0].size(), 2u);
  EXPECT_NEAR(back->sizes[0][0][1], 0.5, 0.5e-4);
  EXPECT_TRUE(back->sizes[0][1].empty());
  EXPECT_NEAR(back->sizes[1][0][0], 2.25, 2.25e-4);
}

TEST(RecordedTimingsTest, DamageIsAnError) {
  RecordedTimings timings;
  timings.sizes = {{{1.0, 0.5}}};
  const std::string bytes = EncodeTimings(timings);
  for (size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_FALSE(DecodeTimings(bytes.substr(0, cut)).ok()) << cut;
  EXPECT_FALSE(DecodeTimings(bytes + "x").ok());
  EXPECT_FALSE(DecodeTimings("X" + bytes.substr(1)).ok());
}

}  // namespace
}  // namespace whetstone
