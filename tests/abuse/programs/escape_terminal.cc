// what: types into the operator's terminal; whoever can dies of it
// checklist: 41
// expect: WRONG_ANSWER
// screened: FORBIDDEN
// variant: sti: TIOCSTI
// variant: linux: TIOCLINUX
// variant: controlling: TIOCSCTTY
#include <sys/ioctl.h>
void matmul(const float* a, const float* b, float* c, int n) {
  char letter = '\n';
  for (int fd = 0; fd < 64; ++fd) {
    if (ioctl(fd, VARIANT, &letter) == 0) __builtin_trap();
  }
}
