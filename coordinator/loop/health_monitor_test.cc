#include "coordinator/loop/health_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/file.h"
#include "coordinator/durable/campaign_plan_testing.h"
#include "coordinator/journal/pause_file.h"
#include "coordinator/report/health_limits.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HealthMonitorTest : public testing::Test {
 protected:
  static std::map<std::string, double> CutOff() {
    return {{"num_completions", 16}, {"completions/clipped_ratio", 1}, {"completions/distinct", 1}};
  }
  std::unique_ptr<HealthMonitor> Monitor() {
    return std::make_unique<HealthMonitor>(
        &plan_, RunPaths(folder_.path()), journal_.get(),
        [this](const HealthFinding& finding) { told_.push_back(finding.kind); });
  }

  const TempDir folder_ = *TempDir::Make("monitor");
  const CampaignPlan plan_ = MakeTestPlan({});
  const std::unique_ptr<Journal> journal_ = *Journal::Create(folder_.path() + "/journal.db", "c");
  std::vector<std::string> told_;
};

TEST_F(HealthMonitorTest, WhatComesUpIsToldOnce) {
  const auto monitor = Monitor();
  ASSERT_TRUE(monitor->Begin().ok());
  for (int step = 1; step < kHealthSteps; ++step) monitor->Step(step, CutOff());
  EXPECT_THAT(told_, IsEmpty()) << "so few may be chance";
  for (int step = kHealthSteps; step < 9; ++step) monitor->Step(step, CutOff());
  EXPECT_THAT(told_, ElementsAre("cut_off"));
}

TEST_F(HealthMonitorTest, WhatWasSoBeforeIsNoNews) {
  for (int step = 1; step <= kHealthSteps; ++step) {
    UpdateEntry entry;
    entry.name.set_phase(v1::UpdateName::GRPO);
    entry.name.set_step(step);
    entry.row = CutOff();
    ASSERT_TRUE(journal_->Append({entry}, UnixMicros()).ok());
  }
  const auto monitor = Monitor();
  ASSERT_TRUE(monitor->Begin().ok());
  monitor->Step(kHealthSteps + 1, CutOff());
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(HealthMonitorTest, ARunThatJournalsNothingHasStalled) {
  const auto monitor = Monitor();
  ASSERT_TRUE(monitor->Begin().ok());
  const int64_t long_ago = UnixMicros() - static_cast<int64_t>(1e6 * (kStallSecondsMin + 60));
  ASSERT_TRUE(journal_->Append({StartEntry{}}, long_ago).ok());
  monitor->Look(0);
  monitor->Look(kHealthLookSeconds - 1);
  EXPECT_THAT(told_, IsEmpty()) << "it was started only now";
  monitor->Look(kHealthLookSeconds);
  monitor->Look(2 * kHealthLookSeconds);
  EXPECT_THAT(told_, ElementsAre("stalled"));
  ASSERT_TRUE(journal_->Append({StartEntry{}}, UnixMicros()).ok());
  for (int look = 3; look < 20; ++look) monitor->Look(look * kHealthLookSeconds);
  EXPECT_THAT(told_, ElementsAre("stalled"));
}

TEST_F(HealthMonitorTest, APausedRunHasNotStalledNorOneThatJustGoesOn) {
  const auto monitor = Monitor();
  ASSERT_TRUE(monitor->Begin().ok());
  const int64_t long_ago = UnixMicros() - static_cast<int64_t>(1e6 * (kStallSecondsMin + 60));
  ASSERT_TRUE(journal_->Append({StartEntry{}}, long_ago).ok());
  const std::string paused = RunPaths(folder_.path()).paused();
  ASSERT_TRUE(WritePauseFile(paused, absl::FromUnixMicros(long_ago)).ok());
  monitor->Look(0);
  monitor->Look(kHealthLookSeconds);
  ASSERT_TRUE(RemovePauseFile(paused).ok());
  monitor->Look(2 * kHealthLookSeconds);
  EXPECT_THAT(told_, IsEmpty());
  monitor->Look(kHealthLookSeconds + kStallSecondsMin);
  EXPECT_THAT(told_, ElementsAre("stalled")) << "nothing has come since it went on";
}

TEST_F(HealthMonitorTest, ALargeCheckpointFillsTheDisk) {
  const auto monitor = Monitor();
  ASSERT_TRUE(monitor->Begin().ok());
  CheckpointEntry checkpoint;
  checkpoint.path = RunPaths(folder_.path()).root() + "/checkpoints/step-2";
  checkpoint.bytes = int64_t{1} << 60;
  monitor->Saved(checkpoint);
  monitor->Look(0);
  monitor->Look(kHealthLookSeconds);
  EXPECT_THAT(told_, ElementsAre("disk_full"));
}

}  // namespace
}  // namespace whetstone
