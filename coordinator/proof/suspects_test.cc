#include "coordinator/proof/suspects.h"

#include <gtest/gtest.h>

#include "common/file.h"

namespace whetstone {
namespace {

TEST(KeepSuspectTest, TheProgramIsBelowWhatWasDoubted) {
  const TempDir folder = *TempDir::Make("suspects");
  v1::Verdict verdict;
  verdict.set_candidate_id("f00/12/0/3");
  verdict.set_detail("measured twice and still faster at n=8 (1 ns)\nthan this host can be");
  verdict.set_problem_hash("b4");
  verdict.set_worker("cpu01");
  const RunPaths paths(folder.path());
  for (const char* const source : {"void f() {}\n", "void g() {}\n"}) {
    const auto path = KeepSuspect(paths, verdict, source);
    ASSERT_TRUE(path.ok()) << path.status();
    EXPECT_EQ(*path, folder.path() + "/suspects/12-0-3.cc");
    EXPECT_EQ(*ReadFile(*path),
              std::string("// SUSPECT: measured twice and still faster at n=8 (1 ns)\n"
                          "// than this host can be\n"
                          "// candidate f00/12/0/3, problem b4, worker cpu01\n") +
                  source);
  }
}

TEST(KeepSuspectTest, AnEvaluationsHasItsStep) {
  const TempDir folder = *TempDir::Make("suspects");
  v1::Verdict verdict;
  verdict.set_candidate_id("f00/eval-20/1/2");
  EXPECT_EQ(*KeepSuspect(RunPaths(folder.path()), verdict, ""),
            folder.path() + "/suspects/eval-20-1-2.cc");
}

TEST(KeepSuspectTest, ADirectoryThatCannotBeMadeIsNamed) {
  v1::Verdict verdict;
  verdict.set_candidate_id("f00/12/0/3");
  const auto path = KeepSuspect(RunPaths("/proc/nowhere"), verdict, "");
  EXPECT_NE(path.status().message().find("/proc/nowhere"), std::string::npos) << path.status();
}

}  // namespace
}  // namespace whetstone
