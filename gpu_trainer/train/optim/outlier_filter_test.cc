#include "gpu_trainer/train/optim/outlier_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace whetstone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(OutlierFilter, SkipsAnOutlierAndGetsUsedToALastingChange) {
  OutlierFilter filter;
  for (size_t i = 0; i + 1 < OutlierFilter::kJudgedMin; ++i)
    EXPECT_EQ(filter.Judge(3, 1.0, 2.0), "");
  EXPECT_EQ(filter.Judge(3, 50.0, 2.0), "") << "too little is known yet";
  EXPECT_EQ(filter.Judge(3, 2.9, 2.0), "");
  EXPECT_THAT(filter.Judge(3, 3.1, 2.0),
              AllOf(HasSubstr("the gradient norm is 3.1"), HasSubstr("3 times the median 1 ")));
  EXPECT_THAT(filter.Judge(3, 1.0, 6.5), HasSubstr("the loss is 6.5"));
  EXPECT_EQ(filter.Judge(3, 1.0, std::nullopt), "") << "a policy loss is not judged";
  int skipped = 0;
  for (int i = 0; i < 64; ++i) skipped += filter.Judge(3, 10.0, 2.0).empty() ? 0 : 1;
  EXPECT_GT(skipped, 4);
  EXPECT_LE(skipped, static_cast<int>(OutlierFilter::kWindow / 2) + 1);
}

}  // namespace
}  // namespace whetstone
