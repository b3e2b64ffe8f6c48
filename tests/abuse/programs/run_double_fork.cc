// what: leaves a daemon behind: two forks and a session of its own
// checklist: 13, 48
// expect: FORBIDDEN
// screened: FORBIDDEN
// variant: fork: fork()
// variant: vfork: vfork()
// variant: clone: syscall(SYS_clone, 17, 0, 0, 0, 0)
// variant: clone_parent: syscall(SYS_clone, 0x8000 | 17, 0, 0, 0, 0)
// variant: setsid: setsid()
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  if (VARIANT == 0) {
    setsid();
    if (fork() == 0) {
      for (;;) close(open("/tmp/whetstone-abuse-left", O_WRONLY | O_CREAT, 0644));
    }
    _exit(0);
  }
  c[0] = 0;
}
