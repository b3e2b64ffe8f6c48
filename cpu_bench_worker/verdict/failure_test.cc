#include "cpu_bench_worker/verdict/failure.h"

#include <gtest/gtest.h>

#include <csignal>

#include "absl/strings/match.h"

namespace whetstone {
namespace {

TEST(FailureTest, EveryEndHasItsOutcome) {
  SandboxResult result;
  const auto outcome = [&] { return FailureOfEnd(result, "computing n=3").outcome; };
  result.exit = SandboxExit::kSignaled;
  result.signal = SIGSEGV;
  EXPECT_EQ(outcome(), v1::CRASH);
  EXPECT_TRUE(absl::StrContains(FailureOfEnd(result, "computing n=3").detail,
                                "SIGSEGV (memory that is not its own, or writing to an input) "
                                "while computing n=3"));
  result.signal = SIGSYS;
  EXPECT_EQ(outcome(), v1::FORBIDDEN);
  result.signal = SIGABRT;
  EXPECT_EQ(outcome(), v1::CRASH);
  result.stderr_text = "terminate called after throwing an instance of 'std::bad_alloc'";
  EXPECT_EQ(outcome(), v1::MEMORY_LIMIT);
  result.signal = SIGSYS;
  EXPECT_EQ(outcome(), v1::FORBIDDEN) << "words do not excuse a forbidden call";
  result.stderr_text.clear();
  result.exit = SandboxExit::kMemoryLimit;
  EXPECT_EQ(outcome(), v1::MEMORY_LIMIT);
  result.exit = SandboxExit::kCpuLimit;
  EXPECT_EQ(outcome(), v1::TIMEOUT);
  result.exit = SandboxExit::kExited;
  result.exit_code = 0;
  EXPECT_EQ(outcome(), v1::CRASH) << "leaving with 0 is no success";
}

TEST(FailureTest, WhatTheHostMayHaveDoneIsNotCalledUnsound) {
  SandboxResult result;
  result.exit = SandboxExit::kSignaled;
  result.signal = SIGSEGV;
  EXPECT_FALSE(FailureOfEnd(result, "computing").hosts);
  result.signal = SIGKILL;
  EXPECT_TRUE(FailureOfEnd(result, "computing").hosts) << "no memory is left, say";
  result.exit = SandboxExit::kWallLimit;
  EXPECT_FALSE(MayBeTheHosts(result)) << "it may loop for ever";
  result.exit = SandboxExit::kExited;
  result.exit_code = 1;
  result.stderr_text = "reference.cc:3: error: expected ';'";
  EXPECT_FALSE(MayBeTheHosts(result));
  result.stderr_text = "g++: fatal error: Killed signal terminated program cc1plus";
  EXPECT_TRUE(MayBeTheHosts(result));
  EXPECT_EQ(ProblemStatus(true, "x"), absl::UnavailableError("x"));
  EXPECT_EQ(ProblemStatus(false, "x"), absl::InvalidArgumentError("x"));
}

}  // namespace
}  // namespace whetstone
