#include "coordinator/journal/pause_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "common/file.h"
#include "coordinator/journal/run_dir.h"

namespace whetstone {
namespace {

TEST(PauseFileTest, SaysSinceWhenUntilItIsRemoved) {
  const TempDir folder = *TempDir::Make("pause");
  const std::string path = RunPaths(folder.path()).paused();
  EXPECT_EQ(ReadPauseFile(path), std::nullopt);
  EXPECT_TRUE(RemovePauseFile(path).ok()) << "there is none";
  const absl::Time since = absl::FromUnixSeconds(1'785'074'580);
  ASSERT_TRUE(WritePauseFile(path, since + absl::Milliseconds(400)).ok());
  EXPECT_EQ(*ReadFile(path), "2026-07-26T14:03:00+00:00\n");
  EXPECT_EQ(ReadPauseFile(path), since);
  EXPECT_TRUE(RemovePauseFile(path).ok());
  EXPECT_EQ(ReadPauseFile(path), std::nullopt);
  std::ofstream(path) << "no time";
  EXPECT_EQ(ReadPauseFile(path), std::nullopt);
  EXPECT_FALSE(WritePauseFile(folder.path() + "/gone/paused", since).ok());
  EXPECT_FALSE(RemovePauseFile(folder.path()).ok()) << "a folder";
}

}  // namespace
}  // namespace whetstone
