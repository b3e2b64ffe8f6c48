// Workers that can measure nothing for a while: no step is learned from of which most was lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "coordinator/campaign/campaign_fakes.h"

namespace whetstone {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

int Dropped(const World& world) {
  return static_cast<int>(
      std::count_if(world.journal().begin(), world.journal().end(), [](const JournalEntry& entry) {
        const auto* verdict = std::get_if<VerdictEntry>(&entry);
        return verdict != nullptr && verdict->dropped;
      }));
}

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
    EXPECT_THAT(world.waited(), Contains(AllOf(HasSubstr("workers that measure for step "),
                                               HasSubstr("the disk is full"))));
    EXPECT_EQ(Dropped(world), 0) << seed << ": all of them are measured in the end";
  }
}

TEST(CampaignLostTest, AfterTheOperatorsPatienceItStopsAndIsResumed) {
  World world({.seed = 3,
               .workers = 2,
               .shared = false,
               .sets = {"measure.patience_s=120"},
               .sick_from = 30,
               .sick_until = 2000});
  ASSERT_EQ(world.Live(), "");
  ASSERT_GT(world.ends().size(), 1u);
  for (size_t i = 0; i + 1 < world.ends().size(); ++i) {
    EXPECT_EQ(world.ends()[i].code(), absl::StatusCode::kUnavailable) << world.ends()[i];
    EXPECT_THAT(std::string(world.ends()[i].message()),
                AllOf(HasSubstr("for 120 s (measure.patience_s) no worker could measure for step "),
                      HasSubstr("the disk is full"), HasSubstr("whet resume RUN")));
  }
  EXPECT_TRUE(world.ends().back().ok()) << world.ends().back();
  EXPECT_EQ(Dropped(world), 0);
}

}  // namespace
}  // namespace whetstone
