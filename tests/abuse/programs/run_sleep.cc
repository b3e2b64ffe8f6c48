// what: sleeps for ever
// checklist: 24
// expect: TIMEOUT FORBIDDEN
// screened: FORBIDDEN
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  for (;;) sleep(1000);
}
