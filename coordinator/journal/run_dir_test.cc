#include "coordinator/journal/run_dir.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "coordinator/journal/journal.h"

namespace whetstone {
namespace {

using std::chrono::seconds;

class RunDirTest : public testing::Test {
 protected:
  void MakeRun(const std::string& root) {
    ASSERT_TRUE(MakeDirectories(root + "/logs").ok());
    std::ofstream(root + "/campaign.yaml") << "name: x\n";
    std::ofstream(root + "/journal.db") << "";
  }
  TempDir folder_ = *TempDir::Make("rundir");
  const std::string root_ = folder_.path() + "/run";
};

TEST_F(RunDirTest, HasOnePathHoweverItIsSpelled) {
  MakeRun(root_);
  for (const char* more : {"", "/", "//", "/.", "/logs/.."}) {
    const absl::StatusOr<RunPaths> paths = RunDir::Find(root_ + more);
    ASSERT_TRUE(paths.ok()) << more << ": " << paths.status();
    EXPECT_EQ(paths->root(), root_) << more;
    EXPECT_EQ(RunDir::Open(root_ + more, seconds(0), nullptr)->paths().root(), root_) << more;
  }
  EXPECT_EQ(RunPaths(".").root(), std::filesystem::current_path().string());
  EXPECT_EQ(RunDir::Create(folder_.path() + "/new/")->paths().root(), folder_.path() + "/new");
}

TEST_F(RunDirTest, ARunThatNeverGotAnywhereIsStartedAfresh) {
  const RunPaths paths(root_);
  {
    const RunDir dir = *RunDir::Create(root_);
    ASSERT_TRUE(Journal::Create(paths.journal(), "c").ok());
    EXPECT_EQ(RunDir::Create(root_).status().code(), absl::StatusCode::kFailedPrecondition)
        << "not under a living owner";
  }
  EXPECT_TRUE(RunDir::Create(root_).ok());
  EXPECT_FALSE(std::filesystem::exists(paths.journal()));
}

TEST_F(RunDirTest, WhatAnEndpointWasAskedIsKeptThoughNothingCameOfIt) {
  const RunPaths paths(root_);
  {
    const RunDir dir = *RunDir::Create(root_);
    ASSERT_TRUE(Journal::Create(paths.journal(), "c").ok());
    ASSERT_TRUE(MakeDirectories(paths.logs()).ok());
    std::ofstream(paths.endpoint_usage()) << "{}\n";
    std::ofstream(paths.logs() + "/whet.log") << "of the other run";
  }
  for (int start = 0; start < 2; ++start) {  // the second finds no journal
    EXPECT_TRUE(RunDir::Create(root_).ok());
    EXPECT_EQ(ReadFile(paths.endpoint_usage()).value_or(""), "{}\n");
    EXPECT_FALSE(std::filesystem::exists(paths.logs() + "/whet.log"));
    EXPECT_FALSE(std::filesystem::exists(paths.journal()));
  }
}

// Its maker was killed before the journal was there, or amid making it.
TEST_F(RunDirTest, ARunThatNeverBeganIsStartedAfresh) {
  const RunPaths paths(root_);
  for (const bool with_file : {false, true}) {
    ASSERT_TRUE(MakeDirectories(root_).ok());
    std::ofstream(paths.lock()) << "4711\n";
    if (with_file) std::ofstream(paths.journal()) << "";
    const absl::Status resumed = RunDir::Open(root_, seconds(0), nullptr).status();
    EXPECT_NE(resumed.message().find("start it again: whet run CAMPAIGN --run-dir"),
              std::string::npos)
        << resumed;
    const absl::StatusOr<RunDir> dir = RunDir::Create(root_);
    EXPECT_TRUE(dir.ok()) << dir.status();
    EXPECT_FALSE(std::filesystem::exists(paths.journal()));
    ASSERT_TRUE(Journal::Create(paths.journal(), "c").ok());
    std::filesystem::remove_all(root_);
  }
  // Whatever else lies there is somebody's.
  ASSERT_TRUE(MakeDirectories(root_).ok());
  std::ofstream(paths.lock()) << "4711\n";
  std::ofstream(root_ + "/notes.txt") << "mine";
  EXPECT_EQ(RunDir::Create(root_).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(std::filesystem::exists(root_ + "/notes.txt"));
}

TEST_F(RunDirTest, ARunWithProgressIsKept) {
  const RunPaths paths(root_);
  {
    const RunDir dir = *RunDir::Create(root_);
    auto journal = *Journal::Create(paths.journal(), "c");
    ASSERT_TRUE(journal->Append({RolloutEntry{1, {}}}, 0).ok());
  }
  const absl::StatusOr<RunDir> again = RunDir::Create(root_);
  EXPECT_EQ(again.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_NE(again.status().message().find("whet resume " + root_), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(paths.journal()));
}

TEST_F(RunDirTest, ResumeNeedsARun) {
  EXPECT_EQ(RunDir::Open(root_, seconds(0), nullptr).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RunDirTest, APauseEndsWithItsProcess) {
  MakeRun(root_);
  const RunPaths paths(root_);
  std::ofstream(paths.paused()) << "what a killed one left\n";
  EXPECT_TRUE(RunDir::Find(root_).ok());
  EXPECT_TRUE(std::filesystem::exists(paths.paused())) << "who only looks removes nothing";
  EXPECT_TRUE(RunDir::Open(root_, seconds(0), nullptr).ok());
  EXPECT_FALSE(std::filesystem::exists(paths.paused()));
}

TEST_F(RunDirTest, BelongsToOneProcess) {
  MakeRun(root_);
  const absl::StatusOr<RunDir> first = RunDir::Open(root_, seconds(0), nullptr);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::StatusOr<RunDir> second = RunDir::Open(root_, seconds(0), nullptr);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(second.status().message().find(absl::StrCat("process ", getpid())), std::string::npos)
      << second.status();
}

TEST_F(RunDirTest, WaitsForAKilledPredecessorsServices) {
  MakeRun(root_);
  // The orphan holds a log open, as a service does, for as long as a pipe is open.
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  const std::string log = root_ + "/logs/trainer.log";
  std::ofstream(log) << "";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(gate[1]);
    prctl(PR_SET_NAME, "whet-trainer");
    FILE* held = std::fopen(log.c_str(), "a");
    char byte;
    (void)!read(gate[0], &byte, 1);
    std::fclose(held);
    _exit(0);
  }
  close(gate[0]);
  // The test goes on once the orphan has opened the file.
  const std::string fds = absl::StrCat("/proc/", child, "/fd");
  for (bool open = false; !open;) {
    std::error_code error;
    for (const auto& fd : std::filesystem::directory_iterator(fds, error)) {
      open = open || std::filesystem::read_symlink(fd.path(), error) == log;
    }
  }
  EXPECT_EQ(RunDir::Open(root_, seconds(0), nullptr).status().code(),
            absl::StatusCode::kFailedPrecondition);
  std::string waited_for;
  const absl::StatusOr<RunDir> dir = RunDir::Open(root_, seconds(60), [&](const std::string& what) {
    waited_for = what;
    close(gate[1]);  // the orphan may go now
  });
  EXPECT_TRUE(dir.ok()) << dir.status();
  EXPECT_NE(waited_for.find(absl::StrCat(child)), std::string::npos) << waited_for;
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace whetstone
