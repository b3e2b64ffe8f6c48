#include "coordinator/doctor/version_and_clock_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace whetstone {
namespace {

using testing::HasSubstr;

class VersionAndClockCheckTest : public testing::Test {
 protected:
  std::vector<Finding> findings_;
  FindingSink sink_ = [this](const Finding& f) { findings_.push_back(f); };
};

TEST_F(VersionAndClockCheckTest, EqualVersionsAndClocksAreNotMentioned) {
  CheckVersion("worker cpu01", "1.2", "1.2", sink_);
  CheckClock("worker cpu01", 1000.5, 1000, 1001, sink_);
  CheckClock("worker cpu01", 1002.9, 1000, 1001, sink_);  // logs bear this much
  CheckClock("worker cpu01", 1004, 1000, 1010, sink_);    // a slow answer proves nothing
  CheckClock("worker cpu01", 0, 1000, 1001, sink_);
  EXPECT_TRUE(findings_.empty());
}

TEST_F(VersionAndClockCheckTest, DifferencesAreWarnedOfWithTheRemedy) {
  CheckVersion("trainer gpu01", "1.1", "1.2", sink_);
  CheckClock("trainer gpu01", 1061, 1000, 1002, sink_);
  CheckClock("trainer gpu01", 941, 1000, 1002, sink_);
  ASSERT_EQ(findings_.size(), 3u);
  for (const Finding& finding : findings_) EXPECT_EQ(finding.level, Finding::Level::kWarn);
  EXPECT_THAT(findings_[0].detail, HasSubstr("version 1.1, this is 1.2"));
  EXPECT_THAT(findings_[0].fix, HasSubstr("install"));
  EXPECT_THAT(findings_[1].detail, HasSubstr("60 s ahead"));
  EXPECT_THAT(findings_[2].detail, HasSubstr("60 s behind"));
}

TEST_F(VersionAndClockCheckTest, AGpuThatIsNotUsedIsWarnedOfWithTheReason) {
  CheckGpu("trainer gpu01", "", sink_);
  EXPECT_TRUE(findings_.empty()) << "it is used, or there is none";
  CheckGpu("trainer gpu01", "the NVIDIA driver is 550.54.14, but it needs 580 or newer", sink_);
  ASSERT_EQ(findings_.size(), 1u);
  EXPECT_EQ(findings_[0].level, Finding::Level::kWarn);
  EXPECT_EQ(findings_[0].check, "trainer gpu01: GPU");
  EXPECT_THAT(findings_[0].detail, HasSubstr("the CPU computes there: the NVIDIA driver is 550"));
  EXPECT_THAT(findings_[0].fix, HasSubstr("--device cpu"));
}

}  // namespace
}  // namespace whetstone
