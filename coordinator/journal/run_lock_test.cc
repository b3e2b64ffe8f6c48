#include "coordinator/journal/run_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/host.h"
#include "common/network_file_system.h"
#include "common/unique_fd.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

class RunLockTest : public testing::Test {
 protected:
  ~RunLockTest() override { TEST_SetFileSystemType(0); }
  static std::string Elsewhere() { return "77\ngate2\nanother-boot\n"; }
  static bool Take(RunLock* lock) {
    const absl::StatusOr<bool> taken = lock->TryTake();
    EXPECT_TRUE(taken.ok()) << taken.status();
    return taken.ok() && *taken;
  }

  const TempDir folder_ = *TempDir::Make("lock");
  const std::string path_ = folder_.path() + "/lock";
  const std::string claim_ = path_ + ".host";
};

TEST_F(RunLockTest, BelongsToWhoHoldsItWhateverTheFileSays) {
  EXPECT_FALSE(RunLock::Holder(path_)) << "there is no file";
  ASSERT_TRUE(WriteFileAtomically(path_, absl::StrCat(getpid(), "\n")).ok());
  EXPECT_FALSE(RunLock::Holder(path_)) << "a living process's number alone";
  {
    RunLock lock = *RunLock::Open(path_);
    EXPECT_FALSE(RunLock::Holder(path_)) << "nobody has taken it";
    ASSERT_TRUE(Take(&lock));
    const std::optional<RunOwner> owner = RunLock::Holder(path_);
    ASSERT_TRUE(owner);
    EXPECT_EQ(owner->pid, getpid());
    EXPECT_EQ(owner->host, Hostname());
    EXPECT_EQ(owner->text(), absl::StrCat("process ", getpid()));
    RunLock other = *RunLock::Open(path_);
    EXPECT_FALSE(Take(&other));
  }
  EXPECT_FALSE(RunLock::Holder(path_));
  EXPECT_FALSE(std::filesystem::exists(claim_));
}

TEST_F(RunLockTest, HeldByAnotherHostItNamesThat) {
  RunLock lock = *RunLock::Open(path_);
  ASSERT_TRUE(Take(&lock));
  const UniqueFd file(open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  ASSERT_EQ(write(file.get(), Elsewhere().data(), Elsewhere().size()),
            static_cast<ssize_t>(Elsewhere().size()));
  EXPECT_EQ(RunLock::Holder(path_)->text(), "process 77 on host gate2");
}

// Its lock is not to be seen from here, as on sshfs, or on NFS that was mounted with local locks.
TEST_F(RunLockTest, OnANetworkFileSystemOnlyOneHostCanHaveIt) {
  TEST_SetFileSystemType(0x6969);
  EXPECT_EQ(NetworkFileSystem(path_), "NFS");
  {
    RunLock lock = *RunLock::Open(path_);
    ASSERT_TRUE(Take(&lock));
    EXPECT_TRUE(std::filesystem::exists(claim_));
  }
  EXPECT_FALSE(std::filesystem::exists(claim_)) << "another host may go on";

  ASSERT_TRUE(WriteFileAtomically(claim_, Elsewhere()).ok());
  const std::optional<RunOwner> owner = RunLock::Holder(path_);
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->text(), "process 77 on host gate2");
  EXPECT_THAT(owner->doubt(), HasSubstr("remove " + claim_)) << "it may have been killed";
  {
    RunLock lock = *RunLock::Open(path_);
    const absl::Status refused = lock.TryTake().status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    for (const std::string& part : {std::string("process 77 on host gate2"), "remove " + claim_}) {
      EXPECT_THAT(std::string(refused.message()), HasSubstr(part));
    }
  }
  EXPECT_EQ(*ReadFile(claim_), Elsewhere()) << "it is not ours to remove";
  EXPECT_FALSE(std::filesystem::exists(absl::StrCat(claim_, ".", Hostname(), ".", getpid())));
}

// Somebody has removed our claim by hand, and another host has made its own.
TEST_F(RunLockTest, AClaimThatIsAnothersByNowIsLeftToIt) {
  TEST_SetFileSystemType(0x6969);
  {
    RunLock lock = *RunLock::Open(path_);
    ASSERT_TRUE(Take(&lock));
    ASSERT_TRUE(WriteFileAtomically(claim_, Elsewhere()).ok());
  }
  EXPECT_EQ(*ReadFile(claim_), Elsewhere());
}

// Two containers of one host, or two mounts, may have locks of their own.
TEST_F(RunLockTest, OnANetworkFileSystemAnotherMountIsAsAnotherHost) {
  TEST_SetFileSystemType(0x6969);
  ASSERT_TRUE(
      WriteFileAtomically(claim_, absl::StrCat("77\n", Hostname(), "\n", HostId(), "\nother\n"))
          .ok());
  RunLock lock = *RunLock::Open(path_);
  ASSERT_TRUE(RunLock::Holder(path_));
  EXPECT_EQ(lock.TryTake().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RunLockTest, OnANetworkFileSystemAKilledOwnersHostMayGoOn) {
  TEST_SetFileSystemType(0x6969);
  RunLock lock = *RunLock::Open(path_);
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  ASSERT_TRUE(WriteFileAtomically(
                  claim_, absl::StrCat("77\n", Hostname(), "\n", HostId(), "\n", info.st_dev, "\n"))
                  .ok());
  EXPECT_FALSE(RunLock::Holder(path_)) << "its lock would be seen here";
  EXPECT_TRUE(Take(&lock));
  EXPECT_THAT(*ReadFile(claim_), testing::StartsWith(absl::StrCat(getpid(), "\n")));
}

// A run directory that was copied from another host with its lock and claim.
TEST_F(RunLockTest, OnALocalFileSystemNoOtherHostCanHaveIt) {
  ASSERT_TRUE(WriteFileAtomically(path_, Elsewhere()).ok());
  ASSERT_TRUE(WriteFileAtomically(claim_, Elsewhere()).ok());
  EXPECT_FALSE(RunLock::Holder(path_));
  RunLock lock = *RunLock::Open(path_);
  EXPECT_TRUE(Take(&lock));
}

}  // namespace
}  // namespace whetstone
