#include "coordinator/report/machine_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "common/file.h"
#include "coordinator/report/health_limits.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

TEST(DiskHealthTest, ADiskThatHoldsNoTwoCheckpointsIsNearlyFull) {
  const TempDir folder = *TempDir::Make("disk");
  const auto found = DiskHealth(folder.path(), int64_t{1} << 60);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->kind, "disk_full");
  EXPECT_THAT(found->what, HasSubstr("are free where the run lies, and it should have 23058430"));
  EXPECT_FALSE(DiskHealth(folder.path() + "/nowhere", int64_t{1} << 60).has_value())
      << "it can not be asked";
}

TEST(DiskHealthTest, OnlyCheckpointsOfTheRunItselfTakeItsRoom) {
  std::vector<CheckpointEntry> checkpoints(2);
  checkpoints[0] = {.name = {}, .path = "/runs/a/checkpoints/1", .checksum = "", .bytes = 5};
  checkpoints[1] = {.name = {}, .path = "/runs/a/checkpoints/2", .checksum = "", .bytes = 7};
  EXPECT_EQ(BytesBelow("/runs/a", checkpoints), 7);
  EXPECT_EQ(BytesBelow("/runs/a/check", checkpoints), 0);
  EXPECT_EQ(BytesBelow("/runs/b", checkpoints), 0);
  EXPECT_EQ(BytesBelow("/runs/a", {}), 0);
}

TEST(StallHealthTest, LongStepsMayBeSilentForLonger) {
  EXPECT_FALSE(StallHealth(kStallSecondsMin - 1, 60).has_value());
  EXPECT_TRUE(StallHealth(kStallSecondsMin, 60).has_value());
  EXPECT_FALSE(StallHealth(kStallSecondsMin, kStallSecondsMin).has_value());
  const auto found = StallHealth(kStallSteps * 1200, 1200);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->kind, "stalled");
  EXPECT_EQ(found->what, "nothing has come of it for 60 minutes");
}

TEST(StallHealthTest, TheLongestOfTheNewestStepsCounts) {
  std::vector<std::map<std::string, double>> rows(kHealthSteps + 1);
  rows[0]["time/step"] = 9;
  rows[2]["time/step"] = 5;
  rows[4]["time/step"] = 2;
  EXPECT_EQ(LongestStep(rows), 5);
  EXPECT_EQ(LongestStep({}), 0);
}

}  // namespace
}  // namespace whetstone
