// what: floods stdout and stderr
// checklist: 22
// expect: TIMEOUT FORBIDDEN CRASH
// screened: FORBIDDEN
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  static char block[65536];
  for (;;) {
    write(1, block, sizeof(block));
    write(2, block, sizeof(block));
  }
}
