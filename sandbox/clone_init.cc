#include "sandbox/clone_init.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <cstdint>

#include "sandbox/plan/plan.h"
#include "sandbox/plan/setup_step.h"

#if !defined(__x86_64__)
#error "whetstone's sandbox is written for x86-64 Linux"
#endif

namespace whetstone {
namespace {

// libc's syscall() writes errno, which here would be the parent thread's.
inline long RawCall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}

inline long Address(const void* pointer) { return reinterpret_cast<long>(pointer); }

[[noreturn]] void Fail(int control, SetupStep step, long result) {
  Message message;
  message.kind = MessageKind::kSetupFailed;
  message.step = step;
  message.error = static_cast<int32_t>(-result);
  RawCall(SYS_sendto, control, Address(&message), sizeof(message), 0x4000 /* MSG_NOSIGNAL */);
  for (;;) RawCall(SYS_exit_group, 1);
}

// Runs on the clone's own stack.
void ChildMain(const CloneRequest* request) {
  const int count = request->fd_count;
  const int control = request->fds[kControlFd];
  // First everything moves above the final numbers, so that no move overwrites what is still
  // needed.
  const int scratch = count + 1;
  long moved[64];
  for (int i = 0; i < count; ++i) {
    moved[i] = RawCall(SYS_fcntl, request->fds[i], F_DUPFD, scratch);
    if (moved[i] < 0) Fail(control, SetupStep::kMoveDescriptors, moved[i]);
  }
  const long init_fd = RawCall(SYS_fcntl, request->init_fd, F_DUPFD_CLOEXEC, scratch);
  if (init_fd < 0) Fail(control, SetupStep::kMoveDescriptors, init_fd);
  for (int i = 0; i < count; ++i) {
    const long result = RawCall(SYS_dup2, moved[i], i);
    if (result < 0) Fail(static_cast<int>(moved[kControlFd]), SetupStep::kMoveDescriptors, result);
  }
  RawCall(SYS_close_range, count, init_fd - 1, 0);
  RawCall(SYS_close_range, init_fd + 1, ~0U, 0);

  char go = 0;
  long got;
  do {
    got = RawCall(SYS_read, kControlFd, Address(&go), 1);
  } while (got == -EINTR);
  if (got != 1 || go != kGoByte) RawCall(SYS_exit_group, 1);  // The parent gave up.

  char* const environment[] = {nullptr};
  static const char empty[] = "";
  const long result = RawCall(SYS_execveat, init_fd, Address(empty), Address(request->argv),
                              Address(environment), AT_EMPTY_PATH);
  Fail(kControlFd, SetupStep::kExecInit, result);
}

// The child must leave this function only through ChildMain: its stack is another one.
long CloneAndRun(clone_args* args, const CloneRequest* request) {
  long result;
  register void (*child_main)(const CloneRequest*) __asm__("r12") = ChildMain;
  register const CloneRequest* child_request __asm__("r13") = request;
  __asm__ volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "mov $1, %%edi\n\t"
      "mov %[exit_group], %%eax\n\t"
      "syscall\n\t"
      "hlt\n"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone3), "D"(args), "S"(sizeof(*args)), "r"(child_main),
        "r"(child_request), [exit_group] "i"(SYS_exit_group)
      : "rcx", "r11", "rdx", "memory");
  return result;
}

}  // namespace

pid_t CloneInit(const CloneRequest& request, int* pidfd) {
  if (request.fd_count < kFirstPassedFd || request.fd_count > 64) return -EINVAL;
  clone_args args = {};
  int new_pidfd = -1;
  args.flags = CLONE_VM | CLONE_PIDFD | CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
               CLONE_NEWIPC | CLONE_NEWUTS;
  args.pidfd = reinterpret_cast<uint64_t>(&new_pidfd);
  if (request.cgroup_fd >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<uint64_t>(request.cgroup_fd);
  }
  args.exit_signal = 0;  // The end sends no SIGCHLD and is invisible to anybody's waitpid(-1).
  args.stack = reinterpret_cast<uint64_t>(request.stack_low);
  args.stack_size = request.stack_bytes;

  // A handler of the parent's must not run in the clone, on the parent's memory.
  uint64_t all = ~uint64_t{0};
  uint64_t before = 0;
  RawCall(SYS_rt_sigprocmask, SIG_SETMASK, Address(&all), Address(&before), sizeof(all));
  const long result = CloneAndRun(&args, &request);
  RawCall(SYS_rt_sigprocmask, SIG_SETMASK, Address(&before), 0, sizeof(before));
  if (result > 0) *pidfd = new_pidfd;
  return static_cast<pid_t>(result);
}

}  // namespace whetstone
