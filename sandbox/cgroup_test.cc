#include "sandbox/cgroup.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "sandbox/cgroup_files.h"
#include "sandbox/plan/plan.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(CgroupFilesTest, FindsTheOwnFolders) {
  const CgroupHome home = ParseCgroupHome(
      "30 25 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
      "31 25 0:27 / /nowhere/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
      "32 25 0:28 /outer /nowhere/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n",
      "4:memory:/outer/job\n3:cpu,cpuacct:/x\n0::/\n");
  EXPECT_EQ(home.v2, "/sys/fs/cgroup/unified");
  // Where folders are not there it is the top of the mount.
  EXPECT_THAT(home.v1, UnorderedElementsAre(Pair("cpuacct", "/nowhere/cpu"),
                                            Pair("memory", "/nowhere/memory")));
  EXPECT_EQ(ParseCgroupHome("", "").v2, "");
  EXPECT_TRUE(ParseCgroupHome("garbage\n- -\n", "a:b\n::\n").v1.empty());
}

TEST(CgroupFilesTest, ReadsNumbers) {
  EXPECT_EQ(CgroupNumber("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "oom_kill"), 3);
  EXPECT_EQ(CgroupNumber("4096\n", ""), 4096);
  EXPECT_EQ(CgroupNumber("", "x"), 0);
  EXPECT_EQ(ParseCgroupCpuNs("123456\n"), 123456);
  EXPECT_EQ(ParseCgroupCpuNs("usage_usec 12\nuser_usec 7\n"), 12000);
  EXPECT_EQ(ParseCgroupCpuNs("WHTPLAN1"), -1);
  EXPECT_EQ(ParseCgroupCpuNs(""), -1);
}

// Returns a pool of `kind`; where this host or user has none, the reason says what to do.
absl::StatusOr<std::unique_ptr<CgroupPool>> OpenOrExplain(CgroupKind kind) {
  absl::StatusOr<std::unique_ptr<CgroupPool>> pool = CgroupPool::Open(kind);
  if (pool.ok()) return pool;
  EXPECT_EQ(pool.status().code(), absl::StatusCode::kFailedPrecondition) << pool.status();
  EXPECT_THAT(std::string(pool.status().message()), HasSubstr("cgroup v"));
  return pool;
}

class CgroupKindTest : public ::testing::TestWithParam<CgroupKind> {};

TEST_P(CgroupKindTest, AProcessIsBornInsideAndNothingIsLeft) {
  const absl::StatusOr<std::unique_ptr<CgroupPool>> opened = OpenOrExplain(GetParam());
  if (!opened.ok()) GTEST_SKIP() << opened.status().message();
  CgroupPool* const pool = opened->get();
  for (int i = 0; i < 3; ++i) {  // A v1 pool uses a group again.
    auto group = pool->Take({.memory_bytes = 64 << 20, .processes = 4});
    ASSERT_TRUE(group.ok()) << group.status();
    int control[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control), 0);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int fds[] = {null, control[1], null};
    alignas(16) static char stack[65536];
    // The shell counts, and keeps a megabyte: enough to be seen in an account.
    char name[] = "sh", flag[] = "-c",
         script[] =
             "x=0123456789abcdef; while [ ${#x} -lt 1000000 ]; do x=$x$x; done; "
             "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    char* const argv[] = {name, flag, script, nullptr};
    CloneRequest request;
    request.init_fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
    request.fds = fds;
    request.fd_count = 3;
    request.argv = argv;
    request.stack_low = stack;
    request.stack_bytes = sizeof(stack);
    int pidfd = -1;
    const pid_t pid = (*group)->Clone(&request, &pidfd);
    ASSERT_GT(pid, 0);
    const std::string groups = ReadFile(absl::StrCat("/proc/", pid, "/cgroup")).value_or("");
    EXPECT_EQ(groups.find(CgroupFolderName(getpid())) != std::string::npos,
              GetParam() != CgroupKind::kNone)
        << groups;
    ASSERT_EQ(send(control[0], &kGoByte, 1, 0), 1);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, __WALL), pid);
    EXPECT_TRUE(WIFEXITED(status)) << status;
    const CgroupUse use = (*group)->Use();
    EXPECT_EQ(use.cpu_ns > 1'000'000, GetParam() != CgroupKind::kNone) << use.cpu_ns;
    EXPECT_EQ(use.memory_bytes_peak > 0, pool->summary().find("memory") != std::string::npos);
    EXPECT_FALSE(use.out_of_memory);
    for (const int fd : {control[0], control[1], null, request.init_fd, pidfd}) close(fd);
  }
}

std::vector<std::string> Homes(CgroupKind kind) {
  const CgroupHome home = ParseCgroupHome(ReadFile("/proc/self/mountinfo").value_or(""),
                                          ReadFile("/proc/self/cgroup").value_or(""));
  std::vector<std::string> folders;
  if (kind == CgroupKind::kV2 && !home.v2.empty()) folders.push_back(home.v2);
  if (kind == CgroupKind::kV1) {
    for (const auto& [controller, folder] : home.v1) folders.push_back(folder);
  }
  return folders;
}

TEST_P(CgroupKindTest, FoldersOfDeadWorkersAreSweptAndOwnOnesGo) {
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  waitpid(dead, nullptr, 0);
  // This is the folder of a process with the same pid in another namespace, which may well be
  // alive.
  const auto another = [dead](const std::string& home) {
    return absl::StrCat(home, "/whetstone-1-", dead);
  };
  for (const std::string& home : Homes(GetParam())) {
    const std::string left = absl::StrCat(home, "/", CgroupFolderName(dead));
    if (mkdir(left.c_str(), 0755) == 0) {
      mkdir((left + "/group-0").c_str(), 0755);
      mkdir((left + "/slot-0").c_str(), 0755);  // An earlier version left this.
    }
    mkdir(another(home).c_str(), 0755);
  }
  // This program's own groups, kept for use again, may be there already.
  const auto own = [] {
    int64_t groups = 0;
    for (const std::string& home : Homes(GetParam())) {
      std::error_code none;
      const auto folder = absl::StrCat(home, "/", CgroupFolderName(getpid()));
      groups += std::distance(std::filesystem::directory_iterator(folder, none), {});
    }
    return groups;
  };
  const int64_t before = own();
  absl::StatusOr<std::unique_ptr<CgroupPool>> pool = OpenOrExplain(GetParam());
  if (!pool.ok()) {
    for (const std::string& home : Homes(GetParam())) rmdir(another(home).c_str());
    GTEST_SKIP() << pool.status().message();
  }
  ASSERT_TRUE((*pool)->Take({.memory_bytes = 64 << 20, .processes = 4}).ok());
  pool->reset();
  EXPECT_EQ(own(), before);
  for (const std::string& home : Homes(GetParam())) {
    EXPECT_NE(access(absl::StrCat(home, "/", CgroupFolderName(dead)).c_str(), F_OK), 0) << home;
    EXPECT_EQ(rmdir(another(home).c_str()), 0) << home;
  }
}

// It does so in a process of its own, whose folder nobody else uses.
TEST_P(CgroupKindTest, AFolderThatSomebodyRemovedIsMadeAgain) {
  const absl::StatusOr<std::unique_ptr<CgroupPool>> possible = OpenOrExplain(GetParam());
  if (!possible.ok()) GTEST_SKIP() << possible.status().message();
  const pid_t child = fork();
  if (child == 0) {
    const auto pool = CgroupPool::Open(GetParam());
    if (!pool.ok()) _exit(2);
    for (const std::string& home : Homes(GetParam())) {
      if (!RemoveCgroupFolder(absl::StrCat(home, "/", CgroupFolderName(getpid())))) _exit(3);
    }
    _exit((*pool)->Take({.memory_bytes = 64 << 20, .processes = 4}).ok() ? 0 : 4);
  }
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  EXPECT_EQ(WIFEXITED(how) ? WEXITSTATUS(how) : -1, 0);
  for (const std::string& home : Homes(GetParam())) {
    RemoveCgroupFolder(absl::StrCat(home, "/", CgroupFolderName(child)));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CgroupKindTest,
                         ::testing::Values(CgroupKind::kNone, CgroupKind::kV1, CgroupKind::kV2),
                         [](const auto& info) {
                           return info.param == CgroupKind::kNone ? "None"
                                  : info.param == CgroupKind::kV1 ? "V1"
                                                                  : "V2";
                         });

}  // namespace
}  // namespace whetstone
