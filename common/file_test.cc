#include "common/file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

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

TEST(FileTest, ATempDirKnowsWhenItIsGone) {
  auto dir = TempDir::Make("file-test");
  ASSERT_TRUE(dir.ok());
  EXPECT_TRUE(dir->Check().ok()) << dir->Check();
  std::filesystem::remove(dir->path());
  EXPECT_EQ(dir->Check().message(), "somebody has removed " + dir->path());
  ASSERT_TRUE(MakeDirectories(dir->path()).ok());
  EXPECT_FALSE(dir->Check().ok()) << "another one has its name";
}

// What a killed process left is removed by the next one that makes such a directory; a living
// process's, another prefix's and what is no directory of this kind stay.
TEST(FileTest, TempDirsOfTheDeadAreSwept) {
  const auto kept = TempDir::Make("sweep-test");
  ASSERT_TRUE(kept.ok()) << kept.status();
  const auto other = TempDir::Make("sweep-test-other");
  ASSERT_TRUE(other.ok()) << other.status();
  const std::string base = std::filesystem::path(kept->path()).parent_path().string();
  const std::string plain = kept->path() + "-mine", file = base + "/sweep-test.sixsix";
  ASSERT_TRUE(MakeDirectories(plain).ok());
  ASSERT_TRUE(WriteFileAtomically(file, "not a directory").ok());
  int names[2];
  ASSERT_EQ(pipe(names), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto left = TempDir::Make("sweep-test");
    if (!left.ok() || !WriteFileAtomically(left->path() + "/x", "x").ok()) _exit(1);
    if (write(names[1], left->path().data(), left->path().size()) <= 0) _exit(1);
    raise(SIGKILL);
  }
  close(names[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  char name[256];
  const ssize_t size = read(names[0], name, sizeof name);
  close(names[0]);
  ASSERT_GT(size, 0);
  const std::string left(name, static_cast<size_t>(size));
  ASSERT_TRUE(std::filesystem::exists(left + "/x")) << "nothing removes it when it is killed";
  const auto next = TempDir::Make("sweep-test");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_FALSE(std::filesystem::exists(left));
  for (const std::string& path : {kept->path(), other->path(), plain, file}) {
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
  }
  std::filesystem::remove_all(plain);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace whetstone
