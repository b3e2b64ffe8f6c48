#include "common/retry_policy.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

TEST(RetryPolicyTest, PermanentDependsOnWhatHasFailed) {
  const struct {
    absl::StatusCode code;
    bool connect, call;
  } kCases[] = {
      {absl::StatusCode::kOk, false, false},
      {absl::StatusCode::kCancelled, false, false},
      {absl::StatusCode::kUnknown, false, false},
      {absl::StatusCode::kInvalidArgument, true, true},
      {absl::StatusCode::kDeadlineExceeded, false, false},
      {absl::StatusCode::kNotFound, true, false},
      {absl::StatusCode::kAlreadyExists, false, false},
      {absl::StatusCode::kPermissionDenied, true, true},
      {absl::StatusCode::kUnauthenticated, true, true},
      {absl::StatusCode::kResourceExhausted, false, true},
      {absl::StatusCode::kFailedPrecondition, false, false},
      {absl::StatusCode::kAborted, false, true},
      {absl::StatusCode::kOutOfRange, false, false},
      {absl::StatusCode::kUnimplemented, true, true},
      {absl::StatusCode::kInternal, false, false},
      {absl::StatusCode::kUnavailable, false, false},
      {absl::StatusCode::kDataLoss, false, false},
  };
  for (const auto& c : kCases) {
    const absl::Status status(c.code, "why");
    EXPECT_EQ(IsPermanent(Operation::kConnect, status), c.connect) << status;
    EXPECT_EQ(IsPermanent(Operation::kCall, status), c.call) << status;
  }
}

TEST(BackoffTest, DoublesUpToItsMaximumAndBeginsAnew) {
  Backoff backoff;
  for (const int ms : {100, 200, 400, 800, 1600, 2000, 2000}) EXPECT_EQ(backoff.Next().count(), ms);
  backoff.Reset();
  EXPECT_EQ(backoff.Next().count(), 100);
}

}  // namespace
}  // namespace whetstone
