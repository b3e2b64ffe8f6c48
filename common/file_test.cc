#include "common/file.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace whetstone {
namespace {

TEST(FileTest, WritesAndReadsBack) {
  auto dir = TempDir::Make("file-test");
  ASSERT_TRUE(dir.ok());
  const std::string path = dir->path() + "/x";
  ASSERT_TRUE(WriteFileAtomically(path, "one").ok());
  ASSERT_TRUE(WriteFileAtomically(path, std::string("t\0wo", 4)).ok());
  EXPECT_EQ(*ReadFile(path), std::string("t\0wo", 4));
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(FileTest, FullDiskLeavesNothingBehind) {
  // /dev/full accepts the open and fails the write with ENOSPC; the temporary is a link to it.
  auto dir = TempDir::Make("file-test");
  ASSERT_TRUE(dir.ok());
  const std::string path = dir->path() + "/x";
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  std::filesystem::create_symlink("/dev/full", path + ".tmp");
  const absl::Status status = WriteFileAtomically(path, "new");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(*ReadFile(path), "old");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(FileTest, MissingFileNamesThePath) {
  const auto content = ReadFile("/nonexistent/file");
  EXPECT_EQ(content.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(content.status().message().find("/nonexistent/file"), std::string::npos);
}

TEST(FileTest, TempDirGoesAwayWithItsContent) {
  std::string path;
  {
    auto dir = TempDir::Make("file-test");
    ASSERT_TRUE(dir.ok());
    path = dir->path();
    ASSERT_TRUE(MakeDirectories(path + "/a/b").ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace whetstone
