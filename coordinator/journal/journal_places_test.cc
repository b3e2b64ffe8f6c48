// These tests try journals where one may not write, and on network file systems.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/network_file_system.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/journal_testing.h"

namespace whetstone {
namespace {

constexpr int64_t kNfs = 0x6969;
constexpr uid_t kNobody = 65534;

class JournalPlacesTest : public testing::Test {
 protected:
  JournalPlacesTest() { EXPECT_EQ(chmod(folder_.path().c_str(), 0755), 0); }
  ~JournalPlacesTest() override {
    TEST_SetFileSystemType(0);
    EXPECT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  }

  static RolloutEntry Rollout(int sample) {
    RolloutEntry rollout{1, {}};
    rollout.completion.set_sample(sample);
    return rollout;
  }
  static int64_t Count(const Journal& journal) {
    int64_t count = 0;
    const absl::Status status = journal.ForEach([&](const JournalEntry&) {
      ++count;
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    return count;
  }
  std::string Mode() const { return RunSql(path_, "PRAGMA journal_mode")[0]; }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(file.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  // Reads it as somebody who may not write there; returns how many entries it has, -1: an error.
  int64_t CountAsReader() const {
    const std::vector<std::string> before = Files();
    EXPECT_EQ(chmod(folder_.path().c_str(), 0555), 0);
    const uid_t self = geteuid();
    const uid_t reader = self == 0 ? kNobody : self;
    EXPECT_EQ(seteuid(reader), 0);
    int64_t count = -1;
    {
      const auto journal = Journal::Open(path_, /*read_only=*/true);
      EXPECT_TRUE(journal.ok()) << journal.status();
      if (journal.ok()) count = Count(**journal);
    }
    EXPECT_EQ(seteuid(self), 0);
    EXPECT_EQ(chmod(folder_.path().c_str(), 0755), 0);
    EXPECT_EQ(Files(), before) << "something was written";
    return count;
  }

  const TempDir folder_ = *TempDir::Make("places");
  const std::string path_ = folder_.path() + "/100% of #1?.db";
};

TEST_F(JournalPlacesTest, WhoMayOnlyReadSeesARunWhetherItRunsOrNot) {
  auto journal = *Journal::Create(path_, "c");
  ASSERT_TRUE(journal->Append({Rollout(0)}, 0).ok());
  EXPECT_EQ(CountAsReader(), 1) << "while it runs";
  journal.reset();
  EXPECT_EQ(CountAsReader(), 1) << "when it has ended";
}

// The files of a killed process are made from those of a living one, copied.
TEST_F(JournalPlacesTest, WhoMayOnlyReadSeesWhatAKilledProcessHadNotMergedYet) {
  const std::string elsewhere = folder_.path() + "/live";
  ASSERT_TRUE(MakeDirectories(elsewhere).ok());
  auto journal = *Journal::Create(elsewhere + "/j.db", "c");
  ASSERT_TRUE(journal->Append({Rollout(0), Rollout(1)}, 0).ok());
  for (const char* part : {"", "-wal"}) {
    std::filesystem::copy_file(elsewhere + "/j.db" + part, path_ + part);
  }
  EXPECT_EQ(CountAsReader(), 2) << "without the log's index";
  std::filesystem::copy_file(elsewhere + "/j.db-shm", path_ + "-shm");
  EXPECT_EQ(CountAsReader(), 2) << "with it";
}

// As a process leaves it that is killed amid a commit: what it must take back lies beside it. Then
// all of it was made unwritable, to be kept.
TEST_F(JournalPlacesTest, WhoMayOnlyReadSeesAnArchivedRunThatWasKilledAmidACommit) {
  TEST_SetFileSystemType(kNfs);
  const std::string elsewhere = folder_.path() + "/live";
  ASSERT_TRUE(MakeDirectories(elsewhere).ok());
  const std::string live = elsewhere + "/j.db";
  ASSERT_TRUE((*Journal::Create(live, "c"))->Append({Rollout(0)}, 0).ok());
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(live.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(db, "PRAGMA synchronous=OFF; BEGIN IMMEDIATE; UPDATE meta SET value = 'other'",
                   nullptr, nullptr, nullptr),
      SQLITE_OK);
  ASSERT_GT(std::filesystem::file_size(live + "-journal"), 0u);
  for (const char* part : {"", "-journal"}) {
    std::filesystem::copy_file(live + part, path_ + part);
    ASSERT_EQ(chmod((path_ + part).c_str(), 0444), 0);
  }
  sqlite3_close(db);
  EXPECT_EQ(CountAsReader(), 1);
}

TEST_F(JournalPlacesTest, WhoMayOnlyReadSeesARunThatWasMovedToANetworkFileSystem) {
  { ASSERT_TRUE((*Journal::Create(path_, "c"))->Append({Rollout(0)}, 0).ok()); }
  TEST_SetFileSystemType(kNfs);
  EXPECT_EQ(CountAsReader(), 1);
}

TEST_F(JournalPlacesTest, OnANetworkFileSystemThereIsNoWriteAheadLog) {
  TEST_SetFileSystemType(kNfs);
  auto journal = *Journal::Create(path_, "c");
  ASSERT_TRUE(journal->Append({Rollout(0)}, 0).ok());
  EXPECT_NE(Mode(), "wal");
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(path_ + "-shm"));
  EXPECT_EQ(CountAsReader(), 1);
}

TEST_F(JournalPlacesTest, OnANetworkFileSystemALongReaderHoldsUpNobody) {
  TEST_SetFileSystemType(kNfs);
  auto journal = *Journal::Create(path_, "c");
  ASSERT_TRUE(journal->Append({Rollout(0), Rollout(1)}, 0).ok());
  const auto reader = *Journal::Open(path_, /*read_only=*/true);
  int next = 2;
  const absl::Status read =
      reader->ForEach([&](const JournalEntry&) { return journal->Append({Rollout(next++)}, 0); });
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(next, 4) << "the reader sees what was there when it began";
  EXPECT_EQ(Count(*journal), 4);
}

TEST_F(JournalPlacesTest, ARunThatIsMovedChangesItsModeWhenItGoesOn) {
  { ASSERT_TRUE((*Journal::Create(path_, "c"))->Append({Rollout(0)}, 0).ok()); }
  EXPECT_EQ(Mode(), "wal");
  TEST_SetFileSystemType(kNfs);
  {
    auto journal = *Journal::Open(path_);
    ASSERT_TRUE(journal->Append({Rollout(1)}, 0).ok());
    EXPECT_FALSE(std::filesystem::exists(path_ + "-wal"));
  }
  EXPECT_NE(Mode(), "wal");
  TEST_SetFileSystemType(0);
  auto journal = *Journal::Open(path_);
  EXPECT_EQ(Mode(), "wal");
  EXPECT_EQ(Count(*journal), 2);
}

}  // namespace
}  // namespace whetstone
