#include "sandbox/seccomp_filter.h"

#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "sandbox/plan/plan.h"

namespace whetstone {
namespace {

// Both profiles need these: memory, time, signals of one's own, synchronisation, the given
// descriptors, and reading files (of which the file system view holds only harmless ones).
constexpr const char* kCommon[] = {"read",
                                   "write",
                                   "readv",
                                   "writev",
                                   "pread64",
                                   "close",
                                   "fstat",
                                   "newfstatat",
                                   "lseek",
                                   "mmap",
                                   "mprotect",
                                   "munmap",
                                   "mremap",
                                   "brk",
                                   "futex",
                                   "exit",
                                   "exit_group",
                                   "rt_sigaction",
                                   "rt_sigprocmask",
                                   "rt_sigreturn",
                                   "sigaltstack",
                                   "sched_yield",
                                   "sched_getaffinity",
                                   "getcpu",
                                   "clock_gettime",
                                   "clock_getres",
                                   "clock_nanosleep",
                                   "nanosleep",
                                   "gettimeofday",
                                   "time",
                                   "getrandom",
                                   "arch_prctl",
                                   "set_tid_address",
                                   "set_robust_list",
                                   "rseq",
                                   "access",
                                   "faccessat",
                                   "getpid",
                                   "gettid",
                                   "tgkill",
                                   "sysinfo",
                                   "restart_syscall"};

constexpr const char* kCompileOnly[] = {
    // These are for files.
    "open", "openat", "creat", "stat", "lstat", "statx", "statfs", "fstatfs", "faccessat2",
    "pwrite64", "preadv", "pwritev", "getdents64", "getcwd", "chdir", "fchdir", "rename",
    "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "link", "linkat",
    "symlink", "symlinkat", "readlink", "readlinkat", "chmod", "fchmod", "fchmodat", "umask",
    "utimensat", "ftruncate", "truncate", "fallocate", "flock", "fsync", "fdatasync", "fadvise64",
    "copy_file_range", "sendfile", "close_range", "msync", "mincore", "dup", "dup2", "dup3",
    "fcntl", "pipe", "pipe2",
    // These are for waiting, and talking over passed descriptors.
    "poll", "ppoll", "select", "pselect6", "epoll_create1", "epoll_ctl", "epoll_wait",
    "epoll_pwait", "eventfd2", "sendmsg", "recvmsg", "sendto", "recvfrom", "shutdown",
    // These are for processes.
    "fork", "vfork", "execve", "execveat", "wait4", "waitid", "kill", "tkill", "getppid", "getpgrp",
    "getpgid", "setpgid", "getsid", "setsid", "getuid", "geteuid", "getgid", "getegid", "getgroups",
    "getresuid", "getresgid", "getrlimit", "setrlimit", "prlimit64", "getrusage", "times",
    "getpriority", "setpriority", "uname", "alarm", "setitimer", "get_robust_list",
    "rt_sigtimedwait", "rt_sigsuspend", "rt_sigpending", "pause", "membarrier"};

// In kCompile these are attacks, not a tool chain looking for a feature.
constexpr const char* kAttacks[] = {"ptrace",
                                    "process_vm_readv",
                                    "process_vm_writev",
                                    "mount",
                                    "umount2",
                                    "pivot_root",
                                    "chroot",
                                    "unshare",
                                    "setns",
                                    "bpf",
                                    "perf_event_open",
                                    "userfaultfd",
                                    "io_uring_setup",
                                    "io_uring_enter",
                                    "io_uring_register",
                                    "keyctl",
                                    "add_key",
                                    "request_key",
                                    "init_module",
                                    "finit_module",
                                    "delete_module",
                                    "kexec_load",
                                    "kexec_file_load",
                                    "reboot",
                                    "swapon",
                                    "swapoff",
                                    "settimeofday",
                                    "clock_settime",
                                    "open_by_handle_at",
                                    "name_to_handle_at",
                                    "acct",
                                    "open_tree",
                                    "move_mount",
                                    "fsopen",
                                    "fsconfig",
                                    "fsmount",
                                    "fspick",
                                    "mount_setattr",
                                    "pidfd_getfd",
                                    "socket",
                                    "connect",
                                    "bind",
                                    "listen",
                                    "accept",
                                    "accept4"};

constexpr uint64_t kNewNamespaceFlags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                        CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
constexpr uint64_t kThreadFlags = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;

class Builder {
 public:
  explicit Builder(uint32_t default_action) : context_(seccomp_init(default_action)) {
    if (context_ == nullptr) return;
    Keep(seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), "bad arch");
  }
  ~Builder() {
    if (context_ != nullptr) seccomp_release(context_);
  }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  template <size_t n>
  void AddAll(uint32_t action, const char* const (&names)[n]) {
    for (const char* name : names) Add(action, name, {});
  }
  void Add(uint32_t action, const char* name, const std::vector<scmp_arg_cmp>& conditions) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR || context_ == nullptr) {
      Keep(-EINVAL, name);
      return;
    }
    Keep(seccomp_rule_add_array(context_, action, number, conditions.size(), conditions.data()),
         name);
  }

  absl::StatusOr<std::string> Export() {
    if (context_ == nullptr) return absl::InternalError("seccomp_init failed");
    if (error_ != 0) {
      return absl::InternalError(
          absl::StrCat("seccomp rule for ", culprit_, ": ", std::strerror(-error_)));
    }
    const UniqueFd fd(memfd_create("whetstone-seccomp", MFD_CLOEXEC));
    if (fd.get() < 0) return absl::InternalError("memfd_create failed");
    std::string bytes;
    struct stat info = {};
    int result = seccomp_export_bpf(context_, fd.get());
    if (result == 0 && fstat(fd.get(), &info) == 0) {
      bytes.resize(info.st_size);
      if (pread(fd.get(), bytes.data(), bytes.size(), 0) != info.st_size) result = -EIO;
    }
    if (result != 0 || bytes.empty()) return absl::InternalError("seccomp_export_bpf failed");
    return bytes;
  }

 private:
  void Keep(int result, const char* what) {
    if (result == 0 || error_ != 0) return;
    error_ = result;
    culprit_ = what;
  }
  scmp_filter_ctx context_;
  int error_ = 0;
  const char* culprit_ = "";
};

scmp_arg_cmp Masked(unsigned argument, uint64_t mask, uint64_t value) {
  return scmp_arg_cmp{argument, SCMP_CMP_MASKED_EQ, mask, value};
}
scmp_arg_cmp Equals(unsigned argument, uint64_t value) {
  return scmp_arg_cmp{argument, SCMP_CMP_EQ, value, 0};
}

absl::StatusOr<std::string> BuildRun(bool threads) {
  Builder builder(SCMP_ACT_KILL_PROCESS);
  builder.AddAll(SCMP_ACT_ALLOW, kCommon);
  // Files open for reading only: any bit that writes, creates or truncates makes the flags differ.
  constexpr uint64_t kWriteBits =
      O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
  builder.Add(SCMP_ACT_ALLOW, "openat", {Masked(2, kWriteBits, O_RDONLY)});
  for (uint64_t bit : {uint64_t{O_WRONLY}, uint64_t{O_RDWR}, uint64_t{O_CREAT}, uint64_t{O_TRUNC},
                       uint64_t{O_APPEND}}) {
    builder.Add(SCMP_ACT_ERRNO(EACCES), "openat", {Masked(2, bit, bit)});
  }
  // Advice about one's own memory is allowed, but not what would evict, empty or poison shared
  // pages.
  for (uint64_t advice : {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED,
                          MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP}) {
    builder.Add(SCMP_ACT_ALLOW, "madvise", {Equals(2, advice)});
  }
  for (uint64_t advice : {MADV_REMOVE, MADV_COLD, MADV_PAGEOUT, MADV_MERGEABLE}) {
    builder.Add(SCMP_ACT_ERRNO(EPERM), "madvise", {Equals(2, advice)});
  }
  // Limits may be asked for, not set.
  builder.Add(SCMP_ACT_ALLOW, "prlimit64", {Equals(2, 0)});
  builder.Add(SCMP_ACT_ALLOW, "execveat", {Equals(0, kExecFd), Equals(4, AT_EMPTY_PATH)});
  // These are harmless questions of libc that must not kill an honest program.
  builder.Add(SCMP_ACT_ERRNO(ENOTTY), "ioctl", {});
  builder.Add(SCMP_ACT_ERRNO(EINVAL), "prctl", {});
  builder.Add(SCMP_ACT_ERRNO(ENOENT), "readlink", {});
  builder.Add(SCMP_ACT_ERRNO(ENOENT), "readlinkat", {});
  if (threads) {
    builder.Add(SCMP_ACT_ALLOW, "clone",
                {Masked(0, kThreadFlags | kNewNamespaceFlags, kThreadFlags)});
    builder.Add(SCMP_ACT_ERRNO(ENOSYS), "clone3", {});
  }
  return builder.Export();
}

absl::StatusOr<std::string> BuildCompile() {
  Builder builder(SCMP_ACT_ERRNO(EPERM));
  builder.AddAll(SCMP_ACT_ALLOW, kCommon);
  builder.AddAll(SCMP_ACT_ALLOW, kCompileOnly);
  builder.AddAll(SCMP_ACT_KILL_PROCESS, kAttacks);
  builder.Add(SCMP_ACT_ALLOW, "madvise", {});
  builder.Add(SCMP_ACT_ALLOW, "clone", {Masked(0, kNewNamespaceFlags, 0)});
  builder.Add(SCMP_ACT_ERRNO(ENOSYS), "clone3", {});
  builder.Add(SCMP_ACT_ERRNO(ENOSYS), "openat2", {});
  builder.Add(SCMP_ACT_ERRNO(ENOTTY), "ioctl", {});
  for (uint64_t option : {PR_SET_NAME, PR_GET_NAME, PR_SET_PDEATHSIG, PR_GET_PDEATHSIG,
                          PR_GET_DUMPABLE, PR_SET_DUMPABLE}) {
    builder.Add(SCMP_ACT_ALLOW, "prctl", {Equals(0, option)});
  }
  return builder.Export();
}

}  // namespace

absl::StatusOr<std::string> SeccompFilter(Profile profile, bool threads) {
  static const auto* compile = new absl::StatusOr<std::string>(BuildCompile());
  static const auto* run = new absl::StatusOr<std::string>(BuildRun(false));
  static const auto* run_threads = new absl::StatusOr<std::string>(BuildRun(true));
  if (profile == Profile::kCompile) return *compile;
  return threads ? *run_threads : *run;
}

}  // namespace whetstone
