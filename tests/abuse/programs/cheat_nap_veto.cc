// what: naps when a call was slow, so that its sample is taken again
// checklist: 63
// with: honest
// expect: CORRECT FORBIDDEN
// twin: 0
// variant: cheat: 1
#include <time.h>
static unsigned calls = 0;
void matmul(const float* a, const float* b, float* c, int n) {
  Honest(a, b, c, n);
  // Half of the calls, by no order that anybody could know, take twice as long.
  unsigned mixed = ++calls * 2654435769u ^ (unsigned)(a[0] * 16777216.0f);
  mixed ^= mixed >> 15;
  if (mixed % 2 == 0) return;
  Honest(a, b, c, n);
  if (VARIANT == 1) {
    const timespec nap = {0, 300000};
    nanosleep(&nap, nullptr);
  }
}
