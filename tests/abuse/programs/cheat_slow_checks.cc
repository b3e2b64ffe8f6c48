// what: takes as long as a call may in every check, and no time when it is timed
// checklist: 55
// with: honest
// problem: slow
// expect: TIMEOUT
// screened: FORBIDDEN TIMEOUT
#include <time.h>
void matmul(const float* a, const float* b, float* c, int n) {
  Honest(a, b, c, n);
  static int calls = 0;
  if (++calls > 24) return;
  timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000000l + now.tv_nsec - begin.tv_nsec < 250000000l);
}
