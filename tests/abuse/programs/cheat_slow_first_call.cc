// what: takes its time in the first call of a process, so that the budget is for one lucky pair
// checklist: 55
// with: honest
// expect: TIMEOUT
// screened: FORBIDDEN TIMEOUT
#include <time.h>
static int calls = 0;
void matmul(const float* a, const float* b, float* c, int n) {
  Honest(a, b, c, n);
  if (n < 64 || ++calls > 1) return;
  timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000000l + now.tv_nsec - begin.tv_nsec < 280000000l);
}
