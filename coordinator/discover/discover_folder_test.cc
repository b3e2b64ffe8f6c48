#include "coordinator/discover/discover_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/file.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

class DiscoverFolderTest : public testing::Test {
 protected:
  std::string Root() const { return dir_->path() + "/a/search"; }
  absl::StatusOr<TempDir> dir_ = TempDir::Make("discover-folder");
};

TEST_F(DiscoverFolderTest, GoesOnWithTheSameFileAndRefusesAnother) {
  EXPECT_FALSE(DiscoverFolder::Holds(Root()));
  {
    const auto made = DiscoverFolder::Create(Root(), "int f();", "seed=1\n", "---\n");
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_TRUE(DiscoverFolder::Holds(Root()));
    const auto busy = DiscoverFolder::Open(Root(), "int f();", "");
    EXPECT_TRUE(absl::IsFailedPrecondition(busy.status())) << busy.status();
  }
  EXPECT_TRUE(DiscoverFolder::Open(Root(), "int f();", "").ok());
  const auto other = DiscoverFolder::Open(Root(), "int g();", "");
  EXPECT_TRUE(absl::IsAlreadyExists(other.status())) << other.status();
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("--out"));
  EXPECT_TRUE(DiscoverFolder::Open(Root(), "int f();", "seed=1\n").ok());
  const auto otherwise = DiscoverFolder::Open(Root(), "int f();", "seed=2\n");
  EXPECT_TRUE(absl::IsAlreadyExists(otherwise.status())) << otherwise.status();
  EXPECT_THAT(std::string(otherwise.status().message()), HasSubstr("seed=1"));
}

TEST_F(DiscoverFolderTest, OneThatWasKilledWhileItWasMadeIsMadeAgain) {
  ASSERT_TRUE(MakeDirectories(Root()).ok());
  ASSERT_TRUE(WriteFileAtomically(Root() + "/lock", "").ok());
  ASSERT_TRUE(WriteFileAtomically(Root() + "/problem.md", "half").ok());
  ASSERT_TRUE(WriteFileAtomically(Root() + "/given.1a2b", "half").ok());
  EXPECT_TRUE(DiscoverFolder::Create(Root(), "int f();", "", "---\n").ok());
}

TEST_F(DiscoverFolderTest, WhatWasApprovedIsTheProblemAsItWas) {
  const auto folder = DiscoverFolder::Create(Root(), "int f();", "", "one");
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_FALSE(folder->Approved());
  ASSERT_TRUE(folder->Approve("other").ok());
  EXPECT_FALSE(folder->Approved());
  ASSERT_TRUE(folder->Approve("one").ok());
  EXPECT_TRUE(folder->Approved());
  ASSERT_TRUE(WriteFileAtomically(folder->problem(), "two").ok());
  EXPECT_FALSE(folder->Approved());
  EXPECT_TRUE(folder->CheckUnchanged().ok());  // Nothing hangs on it yet.
  ASSERT_TRUE(WriteFileAtomically(folder->rule_log(), "").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(folder->CheckUnchanged()));
  // It can be put back.
  ASSERT_TRUE(WriteFileAtomically(folder->problem(), *ReadFile(Root() + "/approved")).ok());
  EXPECT_TRUE(folder->CheckUnchanged().ok());
}

TEST_F(DiscoverFolderTest, AFolderOfSomethingElseIsLeftAlone) {
  ASSERT_TRUE(MakeDirectories(Root()).ok());
  ASSERT_TRUE(WriteFileAtomically(Root() + "/thesis.tex", "years").ok());
  const auto made = DiscoverFolder::Create(Root(), "int f();", "seed=1\n", "---\n");
  EXPECT_TRUE(absl::IsAlreadyExists(made.status())) << made.status();
  EXPECT_FALSE(std::filesystem::exists(Root() + "/lock"));
  // Its names alone do not make it ours.
  std::filesystem::rename(Root() + "/thesis.tex", Root() + "/problem.md");
  EXPECT_TRUE(
      absl::IsAlreadyExists(DiscoverFolder::Create(Root(), "int f();", "", "---\n").status()));
}

}  // namespace
}  // namespace whetstone
