#include "gpu_trainer/train/optim/shard_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace whetstone {
namespace {

TEST(ShardPlan, SlicesTileEveryTensorInWholeUnits) {
  for (const int64_t numel : {0, 1, 1023, 1024, 1025, 4095, 4096, 4097, 5000, 28311552}) {
    for (const int ranks : {1, 2, 3, 4, 7}) {
      for (size_t index = 0; index < 5; ++index) {
        int64_t covered = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const Slice slice = SliceOf(numel, index, rank, ranks);
          if (slice.size() == 0) continue;
          EXPECT_EQ(slice.begin, covered) << numel << " over " << ranks;
          EXPECT_EQ(slice.begin % kSliceUnit, 0);
          covered = slice.end;
        }
        EXPECT_EQ(covered, numel) << "over " << ranks;
      }
    }
  }
}

TEST(ShardPlan, LargeTensorsAreSharedEqually) {
  const int64_t numel = 100 * kSliceUnit + 5;
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_NEAR(static_cast<double>(SliceOf(numel, 0, rank, 4).size()), numel / 4.0, kSliceUnit);
  }
}

TEST(ShardPlan, SmallTensorsSpreadOverTheRanks) {
  std::vector<int> owned(4);
  for (size_t index = 0; index < 20; ++index) {
    for (int rank = 0; rank < 4; ++rank) {
      const Slice slice = SliceOf(576, index, rank, 4);
      if (slice.size() > 0) ++owned[static_cast<size_t>(rank)];
    }
  }
  EXPECT_EQ(owned, std::vector<int>(4, 5));
}

TEST(ShardPlan, OneRankHoldsAll) {
  EXPECT_EQ(SliceOf(12345, 3, 0, 1), (Slice{.begin = 0, .end = 12345}));
}

}  // namespace
}  // namespace whetstone
