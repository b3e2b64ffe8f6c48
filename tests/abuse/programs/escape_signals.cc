// what: signals its group, its session, process 1 and whoever else may hear it
// checklist: 34
// with: honest
// expect: FORBIDDEN CRASH CORRECT
// screened: FORBIDDEN
// variant: group: kill(0, SIGKILL)
// variant: killpg: killpg(1, SIGKILL)
// variant: parent: kill(getppid(), SIGKILL)
// variant: stop: kill(1, SIGSTOP)
// variant: thread: tgkill(1, 1, SIGKILL)
// variant: tkill: syscall(SYS_tkill, 1, SIGKILL)
// variant: queue: sigqueue(1, SIGTERM, sigval{})
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  volatile long ignored = VARIANT;
  Honest(a, b, c, n);
  (void)ignored;
}
