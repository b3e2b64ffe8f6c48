#include "sandbox/init/confine.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include "sandbox/init/report.h"
#include "sandbox/plan/landlock.h"

namespace whetstone {
namespace {

// The vfork child writes this, and the init program reads it once the child has executed or ended.
struct StartFailure {
  SetupStep step = SetupStep::kNone;
  int error = 0;
};

// STEP goes on if `condition` holds, or else notes errno of the failed step and returns.
#define STEP(step_id, condition) \
  do {                           \
    if (!(condition)) {          \
      failure->error = errno;    \
      failure->step = (step_id); \
      return;                    \
    }                            \
  } while (false)

bool SetLimit(__rlimit_resource resource, rlim_t soft, rlim_t hard) {
  rlimit current = {};
  if (getrlimit(resource, &current) != 0) return false;
  // A lower limit of our own stays: unprivileged processes cannot raise it.
  hard = std::min(hard, current.rlim_max);
  const rlimit limit = {std::min(soft, hard), hard};
  return setrlimit(resource, &limit) == 0;
}

bool SetLimits(const Plan& plan) {
  constexpr rlim_t kMiB = rlim_t{1} << 20;
  const auto memory = static_cast<rlim_t>(plan.memory_bytes);
  const auto file = static_cast<rlim_t>(plan.file_bytes);
  // This is a backstop of whole seconds; the init program enforces the exact limit.
  const auto cpu = static_cast<rlim_t>(plan.cpu_ns / 1'000'000'000 + 1);
  const auto open_files = static_cast<rlim_t>(plan.open_files);
  const auto processes = static_cast<rlim_t>(plan.processes + 1);  // The init program counts too.
  return SetLimit(RLIMIT_AS, memory, memory) && SetLimit(RLIMIT_FSIZE, file, file) &&
         SetLimit(RLIMIT_CPU, cpu, cpu + 1) && SetLimit(RLIMIT_NOFILE, open_files, open_files) &&
         // Processes are counted in this user namespace alone, so one sandbox can not starve
         // another.
         SetLimit(RLIMIT_NPROC, processes, processes) &&
         SetLimit(RLIMIT_STACK, 8 * kMiB, 64 * kMiB) && SetLimit(RLIMIT_MEMLOCK, 0, 0) &&
         SetLimit(RLIMIT_MSGQUEUE, 0, 0) && SetLimit(RLIMIT_RTPRIO, 0, 0) &&
         SetLimit(RLIMIT_NICE, 0, 0) && SetLimit(RLIMIT_SIGPENDING, 256, 256) &&
         // The limit is 1, not 0: 0 still feeds a core_pattern that is a pipe, 1 does not.
         SetLimit(RLIMIT_CORE, 1, 1);
}

// Moves the pipes to 0, 1, 2 and the passed descriptors to their numbers; closes all others.
bool PlaceDescriptors(const Plan& plan, const ProgramPipes& pipes, int* exec_fd) {
  std::vector<std::pair<int, int>> moves = {
      {pipes.stdin_read, 0}, {pipes.stdout_write, 1}, {pipes.stderr_write, 2}};
  int highest = 2;
  for (size_t i = 0; i < plan.child_fds.size(); ++i) {
    const int target = static_cast<int>(plan.child_fds[i]);
    moves.emplace_back(kFirstPassedFd + static_cast<int>(i), target);
    highest = std::max(highest, target);
  }
  // First all move above every target, so that no move overwrites a source.
  for (auto& [source, target] : moves) {
    source = fcntl(source, F_DUPFD_CLOEXEC, highest + 1);
    if (source < 0) return false;
  }
  *exec_fd = fcntl(*exec_fd, F_DUPFD_CLOEXEC, kExecFd);
  if (*exec_fd != kExecFd) {
    if (*exec_fd >= 0) errno = EMFILE;
    return false;
  }
  std::sort(moves.begin(), moves.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [source, target] : moves) {
    if (dup2(source, target) < 0) return false;
  }
  // This closes everything else, range by range between the targets.
  int next = 0;
  for (const auto& [source, target] : moves) {
    if (target > next && syscall(SYS_close_range, next, target - 1, 0) != 0) return false;
    next = target + 1;
  }
  return syscall(SYS_close_range, next, kExecFd - 1, 0) == 0 &&
         syscall(SYS_close_range, kExecFd + 1, ~0U, 0) == 0;
}

bool LoadFilter(std::string_view filter) {
  sock_fprog program = {};
  program.len = static_cast<unsigned short>(filter.size() / sizeof(sock_filter));
  program.filter = const_cast<sock_filter*>(reinterpret_cast<const sock_filter*>(filter.data()));
  // Without SPEC_ALLOW the kernel may switch on speculation mitigations that slow what is timed.
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                 SECCOMP_FILTER_FLAG_SPEC_ALLOW | SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

// Runs in the vfork child, on the init program's memory: it may allocate (the parent waits), and
// must end by exec or _exit.
void Become(const Plan& plan, const ProgramPipes& pipes, char* const* argv, char* const* env,
            StartFailure* failure) {
  int exec_fd = open(argv[0], O_PATH | O_CLOEXEC);
  STEP(SetupStep::kOpenProgram, exec_fd >= 0);
  setsid();  // This can not fail: a fresh child leads no group.
  if (!plan.cores.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int64_t core : plan.cores) CPU_SET(static_cast<int>(core), &set);
    STEP(SetupStep::kAffinity, sched_setaffinity(0, sizeof(set), &set) == 0);
  }
  Message starting;
  starting.kind = MessageKind::kStarting;
  STEP(SetupStep::kReportStart, send(kControlFd, &starting, sizeof(starting), MSG_NOSIGNAL) ==
                                    static_cast<ssize_t>(sizeof(starting)));
  STEP(SetupStep::kPassDescriptors, PlaceDescriptors(plan, pipes, &exec_fd));
  STEP(SetupStep::kResourceLimits, SetLimits(plan));
  STEP(SetupStep::kLandlock, EnterLandlock(plan.writable_work));
  // What the worker's parent ignores (nohup, a shell's background jobs) would stay ignored.
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  STEP(SetupStep::kSeccomp, LoadFilter(plan.filter));
  if (plan.exec_by_fd) {
    syscall(SYS_execveat, kExecFd, "", argv, env, AT_EMPTY_PATH);
  } else {
    execve(argv[0], argv, env);
  }
  STEP(SetupStep::kExecProgram, false);
}

std::vector<char*> Pointers(const std::vector<std::string_view>& texts) {
  std::vector<char*> pointers;
  for (std::string_view text : texts) pointers.push_back(const_cast<char*>(text.data()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

void DropPrivileges(const Plan& plan) {
  for (int capability = 0; capability < 64; ++capability) {
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) continue;
    if (errno == EINVAL) break;  // This is past the last one that this kernel knows.
    FailSetup(SetupStep::kDropPrivileges, errno, "bounding set");
  }
  constexpr unsigned long kBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
                                  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (prctl(PR_SET_SECUREBITS, kBits, 0, 0, 0) != 0) {
    FailSetup(SetupStep::kDropPrivileges, errno, "securebits");
  }
  if (plan.program_id != 0) {
    const auto id = static_cast<uid_t>(plan.program_id);
    if (setgroups(0, nullptr) != 0 || setresgid(id, id, id) != 0 || setresuid(id, id, id) != 0) {
      FailSetup(SetupStep::kDropPrivileges, errno, "user id");
    }
  }
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) {
    FailSetup(SetupStep::kDropPrivileges, errno, "capabilities");
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    FailSetup(SetupStep::kDropPrivileges, errno, "no_new_privs");
  }
}

pid_t StartProgram(const Plan& plan, const ProgramPipes& pipes) {
  // These are made before vfork: the child shares this memory.
  const std::vector<char*> argv = Pointers(plan.argv);
  const std::vector<char*> env = Pointers(plan.env);
  volatile StartFailure failure;
  auto* shared = const_cast<StartFailure*>(&failure);
  const pid_t pid = vfork();
  if (pid < 0) FailSetup(SetupStep::kFork, errno, "");
  if (pid == 0) {
    Become(plan, pipes, argv.data(), env.data(), shared);
    _exit(127);
  }
  if (failure.step != SetupStep::kNone) {
    FailSetup(failure.step, failure.error, plan.argv[0]);
  }
  return pid;
}

}  // namespace whetstone
