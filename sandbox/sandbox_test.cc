// These tests are of results, limits, lifetime and failing set-ups, as the user who runs them and,
// when that is root, everything once more as an unprivileged one. sandbox_refusal_test.cc has what
// is refused.
#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sandbox/cgroup.h"
#include "sandbox/cgroup_files.h"
#include "sandbox/sandbox_testing.h"

// Only the thread sanitizer asks for this: a forked child starts threads of its own
// (DiesWithItsParent).
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST_F(SandboxTest, SignalsIgnoredOutsideCountInside) {
  for (const int number : {SIGQUIT, SIGHUP, SIGINT, SIGTERM, SIGPIPE}) {
    const auto before = signal(number, SIG_IGN);
    const SandboxResult result = MustRun(Inmate({"raise", std::to_string(number)}));
    signal(number, before);
    EXPECT_EQ(result.exit, SandboxExit::kSignaled) << number;
    EXPECT_EQ(result.signal, number);
  }
}

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

// Only a control group sees them.
TEST_F(SandboxTest, CpuTimeOfForgottenChildrenCounts) {
  SandboxSpec spec = Inmate({"spin_forgotten", "3000"}, Profile::kCompile);
  spec.limits.cpu = milliseconds(400);
  const SandboxResult result = MustRun(spec);
  const bool counted = absl::StrContains(CgroupPool::Host().summary(), "cpu");
  EXPECT_EQ(result.exit == SandboxExit::kCpuLimit, counted) << CgroupPool::Host().summary();
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

TEST_F(SandboxTest, SparseFilesMeetTheSizeOfTheFileSystem) {
  for (const char* how : {"ftruncate", "fallocate"}) {
    const SandboxResult result = MustRun(Inmate({"sparse", how}, Profile::kCompile));
    EXPECT_EQ(result.exit, SandboxExit::kOutputLimit) << how << ": " << result.stdout_text;
  }
}

// What a process keeps in pipes is no memory of its own; the number of descriptors bounds it, and a
// memory cgroup counts it.
TEST_F(SandboxTest, MemoryCannotHideInPipes) {
  SandboxSpec spec = Inmate({"fill_pipes"}, Profile::kCompile);
  spec.limits.files_max = 64;
  const SandboxResult result = MustRun(spec);
  int64_t bytes = 0;
  ASSERT_TRUE(absl::SimpleAtoi(result.stdout_text, &bytes)) << result.stdout_text;
  EXPECT_GT(bytes, 0);
  EXPECT_LE(bytes, int64_t{32} << 20);
  if (!absl::StrContains(CgroupPool::Host().summary(), "memory"))
    GTEST_SKIP() << "bounded, but nothing counts it: " << CgroupPool::Host().summary();
  EXPECT_GE(result.memory_bytes_peak, bytes);
  spec.limits.memory_bytes_max = 8 << 20;
  spec.limits.file_bytes_max = 0;
  spec.limits.files_max = 256;
  EXPECT_EQ(MustRun(spec).exit, SandboxExit::kMemoryLimit);
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
  // Two run at once: the count of one must not use up the other's.
  auto first = Sandbox::Start(spec);
  auto second = Sandbox::Start(spec);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)->Wait()->stdout_text, "9\n");
  EXPECT_EQ((*second)->Wait()->stdout_text, "9\n");
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
  spec.argv[0] = "/opt/text";
  spec.binds = {{"/usr/lib/os-release", "/opt/text"}};
  fails(spec, "step 37 (execute the program /opt/text): Permission denied");
  spec = Inmate({"exit", "0"});
  spec.binds.push_back({"/nowhere", "/opt/x"});
  fails(spec, "/nowhere: No such file");
  spec = Inmate({"exit", "0"}, Profile::kCompile);
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
  // The kernel kills it in the middle of exec or refuses it: it never hangs and never ends with
  // kExited 0.
  absl::StatusOr<SandboxResult> result = Sandbox::Run(spec);
  if (result.ok()) {
    EXPECT_TRUE(result->exit != SandboxExit::kExited || result->exit_code != 0);
  }
}

TEST_F(SandboxTest, ProbeSaysWhatIsInForce) {
  const absl::StatusOr<Isolation> isolation = Sandbox::Probe();
  ASSERT_TRUE(isolation.ok()) << isolation.status();
  EXPECT_THAT(isolation->summary, HasSubstr("userns,mount,pid,net,ipc,uts,seccomp,landlock:"));
  EXPECT_THAT(isolation->summary, HasSubstr(absl::StrCat("cgroup:", CgroupPool::Host().summary())));
  const bool limited = absl::StrContains(isolation->summary, "(memory,pids");
  if (std::getenv("WHETSTONE_EXPECT_CONTROL_GROUPS") != nullptr) {
    EXPECT_TRUE(limited) << isolation->summary;
  }
  EXPECT_EQ(isolation->missing.empty(), limited) << isolation->summary;
  EXPECT_EQ(isolation->level, limited ? Isolation::Level::kCgroups : Isolation::Level::kLandlock);
}

TEST(SandboxUnprivilegedTest, TheSameSuitePasses) {
  if (geteuid() != 0) GTEST_SKIP() << "the tests of this suite have just run as such a user";
  EXPECT_EQ(RunSelfUnprivileged({"whet-sandbox", "sandbox_test_program"}, "SandboxTest.*"), "");
}

// The hint of `whet doctor` promises that folders of the hierarchies given to the user are enough.
TEST(SandboxUnprivilegedTest, FoldersOfItsOwnAreEnoughForControlGroups) {
  const CgroupHome home = ParseCgroupHome(ReadFile("/proc/self/mountinfo").value_or(""),
                                          ReadFile("/proc/self/cgroup").value_or(""));
  if (geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  if (home.v1.count("memory") == 0 || home.v1.count("pids") == 0)
    GTEST_SKIP() << "no hierarchies of version 1 for memory and pids";
  std::vector<std::string> given;
  for (const auto& [controller, folder] : home.v1) {
    given.push_back(absl::StrCat(folder, "/given-", getpid()));
    if (mkdir(given.back().c_str(), 0755) != 0)
      GTEST_SKIP() << "root in name only, as in a container: " << given.back() << " cannot be made";
  }
  const auto move_in = [&given] {
    for (const std::string& folder : given) {
      if (chown(folder.c_str(), kNobody, kNobody) != 0 ||
          !WriteCgroupFile(folder + "/cgroup.procs", absl::StrCat(getpid())).ok()) {
        return false;
      }
    }
    return setenv("WHETSTONE_EXPECT_CONTROL_GROUPS", "1", 1) == 0;
  };
  EXPECT_EQ(
      RunSelfUnprivileged({"whet-sandbox", "sandbox_test_program"},
                          "SandboxTest.Memory*:SandboxTest.CpuTime*:SandboxTest.Probe*", move_in),
      "");
  for (const std::string& folder : given) EXPECT_TRUE(RemoveCgroupFolder(folder)) << folder;
}

}  // namespace
}  // namespace whetstone
