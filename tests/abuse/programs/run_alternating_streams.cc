// what: alternates between stderr and stdout, where a reader of one waits for ever
// checklist: 23
// with: honest
// expect: CORRECT TIMEOUT FORBIDDEN
// screened: FORBIDDEN
// twin: 0
// variant: six: 6
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  static char block[20000];
  static bool done = false;
  static volatile int times = VARIANT;
  for (int i = 0; i < times && !done; ++i) write(1 + i % 2, block, sizeof(block));
  done = true;
  Honest(a, b, c, n);
}
