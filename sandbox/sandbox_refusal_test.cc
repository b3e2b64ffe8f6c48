// These tests try what a program may not do, see, write or take out.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sandbox/sandbox_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
  for (const char* act : {"memfd", "shmget", "setuid", "fifo", "mlock", "setaffinity"}) {
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

// A program that is timed may not borrow the fast libraries of this host.
TEST_F(SandboxTest, RunProfileSeesTheToolChainsLibrariesOnly) {
  const auto list = [](const char* folder) { return MustRun(Inmate({"read", folder})); };
  EXPECT_EQ(list("/usr/bin/true").exit_code, 1);
  EXPECT_EQ(list("/usr/lib/os-release").exit_code, 1);
  int seen = 0;
  for (const auto& entry :
       // This is where Debian has them.
       std::filesystem::directory_iterator("/usr/lib/x86_64-linux-gnu")) {
    const std::string name = entry.path().filename();
    if (!absl::StrContains(name, ".so") || seen == 40) continue;
    const bool ours = name == "libc.so.6" || name == "libm.so.6" || name == "libstdc++.so.6";
    const bool other = absl::StartsWith(name, "libz") || absl::StartsWith(name, "libLLVM") ||
                       absl::StartsWith(name, "libssl") || absl::StartsWith(name, "libblas");
    if (!ours && !other) continue;
    ++seen;
    EXPECT_EQ(list(entry.path().c_str()).exit_code, ours ? 0 : 1) << name;
  }
  EXPECT_GE(seen, 3);
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
  const int leak = open("/dev/null", O_RDONLY);  // It is inheritable on purpose.
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

// The kernel has its own view, from outside, of ids, capabilities, filter and no_new_privs.
TEST_F(SandboxTest, TheKernelConfirmsTheConfinement) {
  auto process = Sandbox::Start(Inmate({"sleep", "100"}));
  ASSERT_TRUE(process.ok()) << process.status();
  const std::string status = ReadFile(absl::StrCat("/proc/", (*process)->pid(), "/status")).value();
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(status, HasSubstr("Seccomp:\t2"));
  // What is timed must not be slowed by mitigations that only a filter switches on.
  EXPECT_THAT(status, Not(HasSubstr("thread force mitigated")));
  EXPECT_THAT(status, Not(HasSubstr("conditional force disabled")));
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
  spec = Inmate({"pageout", "5"});
  spec.fds = {{read_only, 5}};
  EXPECT_EQ(MustRun(spec).exit_code, 1) << "it could evict what another process reads";
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

// Results are copied when the tree is dead, and never from the link's target, whoever swapped last.
TEST_F(SandboxTest, NobodySwapsWhileResultsAreCopied) {
  for (int i = 0; i < 5; ++i) {
    SandboxSpec spec = Inmate({"swap"}, Profile::kCompile);
    spec.files = {{"given", "secret"}};
    spec.collect = {"out", "link"};
    const SandboxResult result = MustRun(spec);
    EXPECT_EQ(result.exit_code, 0) << result.stdout_text;
    ASSERT_EQ(result.files.size(), 1u) << "one of the two names is the link";
    EXPECT_EQ(result.files.begin()->second, "");
  }
}

}  // namespace
}  // namespace whetstone
