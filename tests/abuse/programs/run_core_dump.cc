// what: dumps its memory through the host's core_pattern
// checklist: 28
// expect: CRASH
// screened: FORBIDDEN
// variant: abort: abort()
// variant: trap: __builtin_trap()
// variant: quit: tgkill(getpid(), gettid(), SIGQUIT)
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
void matmul(const float* a, const float* b, float* c, int n) {
  static char big[64 << 20];
  for (int i = 0; i < 64 << 20; i += 4096) big[i] = 1;
  VARIANT;
}
