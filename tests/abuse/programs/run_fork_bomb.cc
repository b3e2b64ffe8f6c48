// what: forks for ever
// checklist: 11
// expect: FORBIDDEN
// screened: FORBIDDEN
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  for (;;) fork();
}
