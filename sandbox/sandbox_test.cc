// Every limit, every forbidden thing and every way a setup can fail, as the user who runs the test
// and, when that is root, once more as an unprivileged one.
#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

std::string OwnFolder() {
  char self[PATH_MAX] = {};
  const ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
  EXPECT_GT(size, 0);
  return std::filesystem::path(self).parent_path();
}

// A sandbox for sandbox_test_program with these arguments.
SandboxSpec Inmate(std::vector<std::string> args, Profile profile = Profile::kRun) {
  SandboxSpec spec;
  spec.profile = profile;
  spec.argv = {"/opt/inmate"};
  spec.argv.insert(spec.argv.end(), args.begin(), args.end());
  spec.binds = {{OwnFolder() + "/sandbox_test_program", "/opt/inmate"}};
  spec.limits.wall = milliseconds(20'000);
  if (profile == Profile::kRun) spec.limits.processes_max = 1;
  return spec;
}

SandboxResult MustRun(const SandboxSpec& spec) {
  absl::StatusOr<SandboxResult> result = Sandbox::Run(spec);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : SandboxResult{};
}

std::string HostMounts() { return ReadFile("/proc/self/mountinfo").value_or("?"); }

// Direct children of this process, of any exit signal.
std::string Children() {
  std::string all;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    all += ReadFile(task.path() / "children").value_or("");
  }
  return all;
}

class SandboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    mounts_ = HostMounts();
    children_ = Children();
  }
  // Nothing may be left, whatever the test did: no process, no mount.
  void TearDown() override {
    EXPECT_EQ(HostMounts(), mounts_);
    EXPECT_EQ(Children(), children_);
  }

 private:
  std::string mounts_;
  std::string children_;
};

TEST_F(SandboxTest, ReportsExitCodes) {
  for (const int code : {0, 1, 77}) {
    const SandboxResult result = MustRun(Inmate({"exit", absl::StrCat(code)}));
    EXPECT_EQ(result.exit, SandboxExit::kExited);
    EXPECT_EQ(result.exit_code, code);
    EXPECT_GT(result.wall.count(), 0);
    EXPECT_GT(result.memory_bytes_peak, 0);
  }
}

TEST_F(SandboxTest, ReportsSignals) {
  for (const Profile profile : {Profile::kRun, Profile::kCompile}) {
    SandboxResult result = MustRun(Inmate({"abort"}, profile));
    EXPECT_EQ(result.exit, SandboxExit::kSignaled);
    EXPECT_EQ(result.signal, SIGABRT);
    result = MustRun(Inmate({"segv"}, profile));
    EXPECT_EQ(result.exit, SandboxExit::kSignaled);
    EXPECT_EQ(result.signal, SIGSEGV);
  }
}

TEST_F(SandboxTest, DeepRecursionIsASegmentationFault) {
  const SandboxResult result = MustRun(Inmate({"recurse"}));
  EXPECT_EQ(result.exit, SandboxExit::kSignaled);
  EXPECT_EQ(result.signal, SIGSEGV);
}

TEST_F(SandboxTest, CompilesACandidate) {
  SandboxSpec spec;
  spec.argv = {"/usr/bin/g++", "-O2", "-c", "candidate.cc", "-o", "candidate.o"};
  spec.env = {"PATH=/usr/bin"};
  spec.profile = Profile::kCompile;
  spec.files = {
      {"candidate.cc", "#include <vector>\nint f() { return std::vector<int>(3).size(); }"}};
  spec.collect = {"candidate.o", "missing.o"};
  const SandboxResult result = MustRun(spec);
  EXPECT_EQ(result.exit_code, 0) << result.stderr_text;
  ASSERT_EQ(result.files.count("candidate.o"), 1u);
  EXPECT_EQ(result.files.at("candidate.o").substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_EQ(result.files.count("missing.o"), 0u);
}

TEST_F(SandboxTest, ACompileErrorIsTheCompilersExitCodeAndText) {
  SandboxSpec spec;
  spec.argv = {"/usr/bin/g++", "-c", "candidate.cc", "-o", "candidate.o"};
  spec.env = {"PATH=/usr/bin"};
  spec.profile = Profile::kCompile;
  spec.files = {{"candidate.cc", "int f( {"}};
  spec.collect = {"candidate.o"};
  const SandboxResult result = MustRun(spec);
  EXPECT_EQ(result.exit, SandboxExit::kExited);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.stderr_text, HasSubstr("error:"));
  EXPECT_TRUE(result.files.empty());
}

TEST_F(SandboxTest, FeedsStdin) {
  SandboxSpec spec = Inmate({"stdin"});
  spec.stdin_text = std::string(300'000, 'a') + "end";
  spec.limits.output_bytes_max = 1 << 20;
  EXPECT_EQ(MustRun(spec).stdout_text, spec.stdin_text);
}

// ---- Limits ----------------------------------------------------------------------------------

TEST_F(SandboxTest, WallLimitEndsASleeper) {
  for (const Profile profile : {Profile::kRun, Profile::kCompile}) {
    SandboxSpec spec = Inmate({"sleep", "100"}, profile);
    spec.limits.wall = milliseconds(150);
    const SandboxResult result = MustRun(spec);
    EXPECT_EQ(result.exit, SandboxExit::kWallLimit);
    EXPECT_GE(result.wall, milliseconds(150));
    EXPECT_LT(result.wall, milliseconds(5'000));
  }
}

TEST_F(SandboxTest, CpuLimitEndsABusyLoop) {
  for (const Profile profile : {Profile::kRun, Profile::kCompile}) {
    SandboxSpec spec = Inmate({"spin"}, profile);
    spec.limits.cpu = milliseconds(200);
    const SandboxResult result = MustRun(spec);
    EXPECT_EQ(result.exit, SandboxExit::kCpuLimit);
    EXPECT_GE(result.cpu, milliseconds(180));
    EXPECT_LT(result.cpu, milliseconds(2'000));
  }
}

TEST_F(SandboxTest, CpuTimeCannotHideInThreadsOrChildren) {
  SandboxSpec spec = Inmate({"spin_threads", "3"});
  spec.limits.processes_max = 4;
  spec.limits.cpu = milliseconds(300);
  EXPECT_EQ(MustRun(spec).exit, SandboxExit::kCpuLimit);
  spec = Inmate({"spin_children", "3"}, Profile::kCompile);
  spec.limits.cpu = milliseconds(300);
  EXPECT_EQ(MustRun(spec).exit, SandboxExit::kCpuLimit);
}

TEST_F(SandboxTest, MemoryLimitRefusesABomb) {
  SandboxSpec spec = Inmate({"touch", absl::StrCat(int64_t{8} << 30)});
  spec.limits.memory_bytes_max = 64 << 20;
  const SandboxResult result = MustRun(spec);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.stdout_text, HasSubstr("Cannot allocate memory"));
  EXPECT_LE(result.memory_bytes_peak, 64 << 20);
}

TEST_F(SandboxTest, MemoryLimitHoldsForTheWholeTree) {
  SandboxSpec spec = Inmate({"touch_children", "8", absl::StrCat(32 << 20)}, Profile::kCompile);
  spec.limits.memory_bytes_max = 100 << 20;
  const SandboxResult result = MustRun(spec);
  EXPECT_EQ(result.exit, SandboxExit::kMemoryLimit);
  EXPECT_LT(result.wall, milliseconds(15'000));
}

TEST_F(SandboxTest, FileSizeLimitIsAnOutputLimit) {
  SandboxSpec spec = Inmate({"grow", absl::StrCat(int64_t{1} << 30)}, Profile::kCompile);
  spec.limits.file_bytes_max = 4 << 20;
  EXPECT_EQ(MustRun(spec).exit, SandboxExit::kOutputLimit);
}

TEST_F(SandboxTest, InodesAreLimited) {
  SandboxSpec spec = Inmate({"many_files", "20000"}, Profile::kCompile);
  spec.limits.files_max = 64;
  int made = 0;
  ASSERT_TRUE(absl::SimpleAtoi(MustRun(spec).stdout_text, &made));
  EXPECT_GE(made, 64);
  EXPECT_LE(made, 16 * 64 + 256);
}

TEST_F(SandboxTest, ADeepTreeNeedsNoCleaning) {
  int depth = 0;
  ASSERT_TRUE(
      absl::SimpleAtoi(MustRun(Inmate({"deep_tree"}, Profile::kCompile)).stdout_text, &depth));
  EXPECT_GT(depth, 100);
}

TEST_F(SandboxTest, DescriptorsAreLimited) {
  SandboxSpec spec = Inmate({"open_many"});
  spec.limits.files_max = 40;
  EXPECT_EQ(MustRun(spec).stdout_text, "37\n");
}

TEST_F(SandboxTest, AFloodIsTruncatedAndNeverBlocks) {
  SandboxSpec spec = Inmate({"flood", absl::StrCat(int64_t{64} << 20)});
  spec.limits.output_bytes_max = 1000;
  const SandboxResult result = MustRun(spec);
  EXPECT_EQ(result.exit, SandboxExit::kExited);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.output_truncated);
  EXPECT_EQ(result.stdout_text, std::string(1000, 'x'));
}

TEST_F(SandboxTest, AlternatingStreamsDoNotDeadlock) {
  SandboxSpec spec = Inmate({"flood", absl::StrCat(8 << 20), "both"});
  const SandboxResult result = MustRun(spec);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.stderr_text.size(), static_cast<size_t>(spec.limits.output_bytes_max));
}

TEST_F(SandboxTest, AnEndlessFloodMeetsTheWallLimit) {
  SandboxSpec spec = Inmate({"flood", absl::StrCat(int64_t{1} << 60)});
  spec.limits.wall = milliseconds(300);
  EXPECT_EQ(MustRun(spec).exit, SandboxExit::kWallLimit);
}

TEST_F(SandboxTest, AForkBombIsCounted) {
  SandboxSpec spec = Inmate({"fork_bomb"}, Profile::kCompile);
  spec.limits.processes_max = 20;
  EXPECT_EQ(MustRun(spec).stdout_text, "19\n");
}

TEST_F(SandboxTest, AForkBombThatNeverStopsIsEnded) {
  SandboxSpec spec = Inmate({"fork_forever"}, Profile::kCompile);
  spec.limits.wall = milliseconds(500);
  spec.limits.cpu = milliseconds(60'000);
  EXPECT_EQ(MustRun(spec).exit, SandboxExit::kWallLimit);
}

TEST_F(SandboxTest, ThreadsAreCountedPerSandbox) {
  SandboxSpec spec = Inmate({"thread_bomb"});
  spec.limits.processes_max = 10;
  // Two at once: the count of one must not use up the other's.
  auto first = Sandbox::Start(spec);
  auto second = Sandbox::Start(spec);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)->Wait()->stdout_text, "9\n");
  EXPECT_EQ((*second)->Wait()->stdout_text, "9\n");
}

// ---- Forbidden things ------------------------------------------------------------------------

TEST_F(SandboxTest, RunProfileKillsForbiddenCalls) {
  for (const char* act : {"ptrace", "vm_writev",   "mount", "unshare", "bpf",    "io_uring",
                          "keyctl", "userfaultfd", "perf",  "memfd",   "shmget", "setaffinity",
                          "setuid", "kill_all",    "exec",  "mkdir",   "fifo",   "symlink",
                          "fork",   "x32",         "int80", "mlock"}) {
    const SandboxResult result = MustRun(Inmate({act, "/usr/bin/true", "x"}));
    EXPECT_EQ(result.exit, SandboxExit::kSignaled) << act << ": " << result.stdout_text;
    EXPECT_EQ(result.signal, SIGSYS) << act;
  }
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK, AF_VSOCK}) {
    EXPECT_EQ(MustRun(Inmate({"socket", absl::StrCat(family)})).signal, SIGSYS) << family;
  }
}

TEST_F(SandboxTest, CompileProfileRefusesForbiddenCalls) {
  for (const char* act : {"ptrace", "vm_writev", "mount", "unshare", "bpf", "io_uring", "keyctl",
                          "userfaultfd", "perf", "x32", "int80"}) {
    EXPECT_EQ(MustRun(Inmate({act}, Profile::kCompile)).signal, SIGSYS) << act;
  }
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK}) {
    EXPECT_EQ(MustRun(Inmate({"socket", absl::StrCat(family)}, Profile::kCompile)).signal, SIGSYS);
  }
  for (const char* act : {"memfd", "shmget", "setuid", "fifo", "mlock"}) {
    const SandboxResult result = MustRun(Inmate({act, "x"}, Profile::kCompile));
    EXPECT_EQ(result.exit, SandboxExit::kExited) << act;
    EXPECT_EQ(result.exit_code, 1) << act << " was possible";
  }
}

TEST_F(SandboxTest, KillingEverybodyReachesNobodyOutside) {
  // The caller is spared by kill(-1); process 1 cannot be killed from inside; the result arrives.
  const SandboxResult result = MustRun(Inmate({"kill_all"}, Profile::kCompile));
  EXPECT_EQ(result.exit, SandboxExit::kExited);
}

TEST_F(SandboxTest, HostFilesDoNotExist) {
  for (const Profile profile : {Profile::kRun, Profile::kCompile}) {
    for (const char* path : {"/etc/shadow", "/etc/passwd", "/root", "/home", "/proc/self/maps",
                             "/proc/1/environ", "/sys/kernel", "/dev/mem", "/dev/zero",
                             "/dev/urandom", "/.old", "/../etc/passwd", "/var/lib"}) {
      const SandboxResult result = MustRun(Inmate({"read", path}, profile));
      EXPECT_EQ(result.exit_code, 1) << path;
      EXPECT_THAT(result.stdout_text, HasSubstr("No such file")) << path;
    }
  }
}

TEST_F(SandboxTest, NothingOutsideWorkIsWritable) {
  for (const char* path :
       {"/x", "/usr/x", "/usr/lib/x", "/usr/bin/true", "/opt/inmate", "/etc/x", "/dev/x"}) {
    const SandboxResult result = MustRun(Inmate({"write", path}, Profile::kCompile));
    EXPECT_EQ(result.exit_code, 1) << path;
  }
  for (const char* path : {"/work/x", "/tmp/x", "x", "/dev/null"}) {
    const SandboxResult result = MustRun(Inmate({"write", path}, Profile::kCompile));
    EXPECT_EQ(result.exit_code, 0) << path << ": " << result.stdout_text;
  }
  for (const char* path : {"/work/x", "/tmp/x"}) {
    EXPECT_EQ(MustRun(Inmate({"write", path})).exit_code, 1) << path;
  }
}

TEST_F(SandboxTest, NothingSurvivesToTheNextRun) {
  EXPECT_EQ(MustRun(Inmate({"write", "/tmp/cache"}, Profile::kCompile)).exit_code, 0);
  EXPECT_EQ(MustRun(Inmate({"read", "/tmp/cache"}, Profile::kCompile)).exit_code, 1);
}

TEST_F(SandboxTest, DescriptorsAreClosed) {
  const int leak = open("/dev/null", O_RDONLY);  // inheritable on purpose
  ASSERT_GE(leak, 0);
  EXPECT_EQ(MustRun(Inmate({"fds"}, Profile::kCompile)).stdout_text, "0 1 2 ");
  SandboxSpec spec = Inmate({"fds"}, Profile::kCompile);
  spec.fds = {{leak, 7}, {leak, 3}};
  EXPECT_EQ(MustRun(spec).stdout_text, "0 1 2 3 7 ");
  close(leak);
}

TEST_F(SandboxTest, IsAloneAndNobody) {
  const std::string text = MustRun(Inmate({"identity"}, Profile::kCompile)).stdout_text;
  EXPECT_EQ(text, geteuid() == 0 ? "pid 2 uid 1000\n" : "pid 2 uid 0\n");
}

// The kernel's own view, from outside: ids, capabilities, filter, no_new_privs.
TEST_F(SandboxTest, TheKernelConfirmsTheConfinement) {
  auto process = Sandbox::Start(Inmate({"sleep", "100"}));
  ASSERT_TRUE(process.ok()) << process.status();
  const std::string status = ReadFile(absl::StrCat("/proc/", (*process)->pid(), "/status")).value();
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(status, HasSubstr("Seccomp:\t2"));
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_THAT(status, HasSubstr(absl::StrCat(set, ":\t0000000000000000"))) << set;
  }
  if (geteuid() == 0) {
    EXPECT_THAT(status, HasSubstr("Uid:\t65534\t65534\t65534\t65534"));
  }
  for (const char* name : {"user", "mnt", "pid", "net", "ipc", "uts"}) {
    char own[64] = {};
    char inside[64] = {};
    ASSERT_GT(readlink(absl::StrCat("/proc/self/ns/", name).c_str(), own, 63), 0);
    ASSERT_GT(readlink(absl::StrCat("/proc/", (*process)->pid(), "/ns/", name).c_str(), inside, 63),
              0);
    EXPECT_STRNE(own, inside);
  }
}

TEST_F(SandboxTest, LimitsAreInForce) {
  SandboxSpec spec = Inmate({"limits"});
  spec.limits.memory_bytes_max = 123 << 20;
  spec.limits.files_max = 33;
  EXPECT_EQ(MustRun(spec).stdout_text, absl::StrCat(123 << 20, " 1 0 33 "));
}

TEST_F(SandboxTest, AReadOnlyDescriptorStaysReadOnly) {
  const int fd = memfd_create("input", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  const int read_only = open(absl::StrCat("/proc/self/fd/", fd).c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(read_only, 0);
  SandboxSpec spec = Inmate({"map_writable", "5"});
  spec.fds = {{read_only, 5}};
  EXPECT_EQ(MustRun(spec).exit_code, 1);
  spec.fds = {{fd, 5}};
  EXPECT_EQ(MustRun(spec).exit_code, 0) << "the control: a writable one can be mapped so";
  close(fd);
  close(read_only);
}

// ---- Copy-out --------------------------------------------------------------------------------

TEST_F(SandboxTest, CopyOutTakesRegularFilesOnly) {
  const struct {
    std::vector<std::string> args;
  } cases[] = {{{"symlink", "/usr/lib/os-release", "out"}},
               {{"symlink", "given", "out"}},
               {{"symlink", "/work/given", "out"}},
               {{"symlink", "out", "out"}},
               {{"mkdir", "out"}}};
  for (const auto& item : cases) {
    SandboxSpec spec = Inmate(item.args, Profile::kCompile);
    spec.files = {{"given", "content"}};
    spec.collect = {"out", "given"};
    const SandboxResult result = MustRun(spec);
    EXPECT_EQ(result.exit_code, 0) << item.args[0] << result.stdout_text;
    EXPECT_EQ(result.files.count("out"), 0u) << item.args[0] << " " << item.args[1];
    EXPECT_EQ(result.files.at("given"), "content");
  }
  // A hard link can only name a file of this very sandbox.
  SandboxSpec spec = Inmate({"link", "/usr/lib/os-release", "out"}, Profile::kCompile);
  spec.collect = {"out"};
  EXPECT_EQ(MustRun(spec).exit_code, 1);
}

// ---- Lifetime --------------------------------------------------------------------------------

TEST_F(SandboxTest, ADaemonisedGrandchildDies) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  SandboxSpec spec = Inmate({"daemonise"}, Profile::kCompile);
  spec.fds = {{ends[1], 9}};
  const SandboxResult result = MustRun(spec);
  EXPECT_EQ(result.exit_code, 0);
  close(ends[1]);
  // Every holder of the write end is dead only if this reads end of file at once.
  pollfd entry = {ends[0], POLLIN, 0};
  ASSERT_EQ(poll(&entry, 1, 0), 1);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

TEST_F(SandboxTest, StartGivesTheHostPidAndKillEndsIt) {
  auto process = Sandbox::Start(Inmate({"spin"}));
  ASSERT_TRUE(process.ok()) << process.status();
  const pid_t pid = (*process)->pid();
  EXPECT_TRUE((*process)->Running());
  EXPECT_TRUE(ReadFile(absl::StrCat("/proc/", pid, "/schedstat")).ok());
  (*process)->Kill();
  absl::StatusOr<SandboxResult> result = (*process)->Wait();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit, SandboxExit::kSignaled);
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_FALSE((*process)->Running());
  EXPECT_FALSE((*process)->Wait().ok()) << "Wait may be called once";
  EXPECT_NE(kill(pid, 0), 0);
}

TEST_F(SandboxTest, DestructionKillsTheTree) {
  pid_t pid = -1;
  {
    auto process = Sandbox::Start(Inmate({"spin_children", "4"}, Profile::kCompile));
    ASSERT_TRUE(process.ok()) << process.status();
    pid = (*process)->pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_NE(kill(pid, 0), 0);
}

TEST_F(SandboxTest, PassedSocketsCarryBothWays) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  SandboxSpec spec = Inmate({"write_fd", "8"});
  spec.fds = {{pair[1], 8}};
  EXPECT_EQ(MustRun(spec).exit_code, 0);
  char text[6] = {};
  EXPECT_EQ(read(pair[0], text, 5), 5);
  EXPECT_STREQ(text, "hello");
  close(pair[0]);
  close(pair[1]);
}

// Everything dies with the parent, however it dies.
TEST_F(SandboxTest, DiesWithItsParent) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    SandboxSpec spec = Inmate({"spin_children", "2"}, Profile::kCompile);
    spec.fds = {{ends[1], 9}};
    auto process = Sandbox::Start(spec);
    if (!process.ok() || write(ends[1], "s", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  close(ends[1]);
  char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  // The inmates hold the write end: end of file means that all of them are gone.
  pollfd entry = {ends[0], POLLIN, 0};
  ASSERT_EQ(poll(&entry, 1, 10'000), 1) << "the tree outlived its parent";
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

// The thread that started a sandbox may end before it.
TEST_F(SandboxTest, OutlivesTheThreadThatStartedIt) {
  std::unique_ptr<SandboxProcess> process;
  std::thread([&] { process = Sandbox::Start(Inmate({"sleep", "100"})).value(); }).join();
  EXPECT_TRUE(process->Running());
  process->Kill();
  EXPECT_EQ(process->Wait()->signal, SIGKILL);
}

TEST_F(SandboxTest, ManyThreadsAtOnce) {
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&good, i] {
      for (int j = 0; j < 5; ++j) {
        absl::StatusOr<SandboxResult> result = Sandbox::Run(Inmate({"exit", absl::StrCat(i)}));
        if (result.ok() && result->exit_code == i) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 20);
}

TEST_F(SandboxTest, PinsToCores) {
  SandboxSpec spec = Inmate({"sleep", "100"});
  spec.cores = {0};
  auto process = Sandbox::Start(spec);
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_THAT(ReadFile(absl::StrCat("/proc/", (*process)->pid(), "/status")).value(),
              HasSubstr("Cpus_allowed_list:\t0\n"));
}

// ---- Failing set-up --------------------------------------------------------------------------

TEST_F(SandboxTest, BadSpecificationsAreNamed) {
  const auto fails = [](const SandboxSpec& spec, const std::string& text) {
    const absl::Status status = Sandbox::Start(spec).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  };
  SandboxSpec spec = Inmate({"exit", "0"});
  spec.argv[0] = "inmate";
  fails(spec, "absolute path");
  spec = Inmate({"exit", "0"});
  spec.argv[0] = "/opt/nobody";
  fails(spec, "step 30 (open the program /opt/nobody): No such file or directory");
  spec = Inmate({"exit", "0"});
  spec.argv[0] = "/usr/lib/os-release";
  fails(spec, "step 37 (execute the program /usr/lib/os-release): Permission denied");
  spec = Inmate({"exit", "0"});
  spec.binds.push_back({"/nowhere", "/opt/x"});
  fails(spec, "/nowhere: No such file");
  spec = Inmate({"exit", "0"});
  spec.binds.push_back({"/usr/bin/true", "/usr/lib/new-name"});
  fails(spec, "step 14 (bind /usr/bin/true)");
  spec = Inmate({"exit", "0"});
  spec.files = {{"../x", ""}};
  fails(spec, "bad file name '../x'");
  spec = Inmate({"exit", "0"});
  spec.collect = {"/etc/shadow"};
  fails(spec, "bad name to collect");
  spec = Inmate({"exit", "0"});
  spec.fds = {{0, 2}};
  fails(spec, "passed descriptor 0 as 2");
  spec = Inmate({"exit", "0"});
  spec.fds = {{777, 5}};
  fails(spec, "step 4 (move descriptors)");
  spec = Inmate({"exit", "0"});
  spec.cores = {1023};
  fails(spec, "step 32 (pin to cores");
}

TEST_F(SandboxTest, TooMuchMemoryForTheProgramIsTyped) {
  SandboxSpec spec = Inmate({"exit", "0"});
  spec.limits.memory_bytes_max = 4096;
  // Killed by the kernel in the middle of exec, or refused by it: never a hang, never kExited 0.
  absl::StatusOr<SandboxResult> result = Sandbox::Run(spec);
  if (result.ok()) {
    EXPECT_TRUE(result->exit != SandboxExit::kExited || result->exit_code != 0);
  }
}

TEST_F(SandboxTest, ProbeSaysWhatIsInForce) {
  const absl::StatusOr<Isolation> isolation = Sandbox::Probe();
  ASSERT_TRUE(isolation.ok()) << isolation.status();
  EXPECT_THAT(isolation->summary, HasSubstr("userns,mount,pid,net,ipc,uts,seccomp,landlock:"));
  EXPECT_THAT(isolation->summary, HasSubstr("cgroup:none"));
  EXPECT_FALSE(isolation->missing.empty());
}

// The whole suite once more as "nobody", from a folder that everybody may read.
TEST(SandboxUnprivilegedTest, TheSameSuitePasses) {
  if (geteuid() != 0) GTEST_SKIP() << "already unprivileged";
  char folder[] = "/tmp/whetstone-sandbox-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  ASSERT_EQ(chmod(folder, 0755), 0);
  char self[PATH_MAX] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
  const std::string base(folder);
  std::filesystem::copy_file(self, base + "/test");
  for (const char* name : {"whet-sandbox", "sandbox_test_program"}) {
    std::filesystem::copy_file(OwnFolder() + "/" + name, base + "/" + name);
  }
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    if (chdir("/") != 0 || setgroups(0, nullptr) != 0 || setresgid(65534, 65534, 65534) != 0 ||
        setresuid(65534, 65534, 65534) != 0) {
      _exit(3);
    }
    execl((base + "/test").c_str(), "test", "--gtest_filter=SandboxTest.*", "--gtest_brief=1",
          "--gtest_output=", nullptr);
    _exit(4);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  std::filesystem::remove_all(base);
}

}  // namespace
}  // namespace whetstone
