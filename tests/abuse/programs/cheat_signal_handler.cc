// what: swallows its own crash and goes on for ever
// checklist: 62
// expect: TIMEOUT FORBIDDEN
// screened: FORBIDDEN
#include <signal.h>
void matmul(const float* a, const float* b, float* c, int n) {
  signal(SIGSEGV, [](int) {});
  *(volatile int*)nullptr = 1;
}
