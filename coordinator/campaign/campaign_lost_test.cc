// Workers that can measure nothing for a while: no step is learned from of which most was lost,
// which the world watches (World::CheckBatch).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "coordinator/campaign/campaign_fakes.h"

namespace whetstone {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(CampaignLostTest, AStepWaitsForWorkersThatMeasureAndSaysWhy) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    World world({.seed = seed,
                 .workers = 1 + static_cast<int>(seed % 3),
                 .shared = seed % 2 == 0,
                 .sets = {seed % 3 == 0 ? "train.max_staleness=1" : "train.max_staleness=0"},
                 .sick_from = 30,
                 .sick_until = 700});
    ASSERT_EQ(world.Live(), "") << seed;
    ASSERT_EQ(world.ends().size(), 1u) << world.ends()[0];
    EXPECT_GT(world.lived(), 700) << seed;
    EXPECT_LT(world.lived(), 1500) << seed << ": it goes on soon after";
    EXPECT_THAT(world.waited(),
                Contains("a worker that measures; the last attempt: the disk is full"));
  }
}

TEST(CampaignLostTest, AfterTheOperatorsPatienceItStopsAndIsResumed) {
  World world({.seed = 3,
               .workers = 2,
               .shared = false,
               .sets = {"patience.measuring_s=120"},
               .sick_from = 30,
               .sick_until = 2000});
  ASSERT_EQ(world.Live(), "");
  ASSERT_GT(world.ends().size(), 1u);
  for (size_t i = 0; i + 1 < world.ends().size(); ++i) {
    EXPECT_EQ(world.ends()[i].code(), absl::StatusCode::kUnavailable) << world.ends()[i];
    EXPECT_THAT(
        std::string(world.ends()[i].message()),
        AllOf(HasSubstr("for 120 s (patience.measuring_s) no worker could measure anything: "),
              HasSubstr("the disk is full"), HasSubstr("whet resume RUN")));
  }
  EXPECT_TRUE(world.ends().back().ok()) << world.ends().back();
}

}  // namespace
}  // namespace whetstone
