#include "gpu_trainer/process/rank_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace whetstone {
namespace {

using std::chrono::milliseconds;

TEST(StillnessTest, CountsWhileOneThingGetsNoFurther) {
  Stillness stillness;
  const auto look = [&](const std::string& busy, int64_t work) {
    return stillness.Look(busy, work) / Stillness::kLookEvery;
  };
  EXPECT_EQ(look("", 0), 0);
  EXPECT_EQ(look("", 0), 0) << "nothing to do";
  EXPECT_EQ(look("Update", 0), 0);
  EXPECT_EQ(look("Update", 0), 1);
  EXPECT_EQ(look("Update", 0), 2);
  EXPECT_EQ(look("Update", 1), 0) << "a micro-batch more";
  EXPECT_EQ(look("Update", 1), 1);
  EXPECT_EQ(look("Generate", 1), 0) << "another thing";
  EXPECT_EQ(look("Generate", 1), 1);
  EXPECT_EQ(look("", 1), 0);
}

TEST(RankWatchTest, WorkThatHangsEndsTheProcessAndLoadingDoesNot) {
  RankGroup alone;
  std::atomic<int> looks = 0;
  std::promise<absl::Status> said;
  // It loads for longer than the deadline, and then updates.
  const RankWatch watch(
      alone, [&] { return ++looks < 6 ? "LoadCheckpoint" : "Update"; }, milliseconds(400),
      [&](const absl::Status& status) { said.set_value(status); });
  std::future<absl::Status> hangs = said.get_future();
  ASSERT_EQ(hangs.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  const absl::Status status = hangs.get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message().find("Update has got no further"), 0u) << status;
  EXPECT_GE(looks, 8);
}

}  // namespace
}  // namespace whetstone
