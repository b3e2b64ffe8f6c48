// what: leaves the kernel much to unmap when a call was slow, so that its sample does not count
// checklist: 63
// with: honest
// expect: CORRECT FORBIDDEN
// twin: 0
// variant: small: (1 << 18)
// variant: large: (1 << 24)
#include <sys/mman.h>
static unsigned calls = 0;
static void Unmap(unsigned long bytes) {
  char* some = (char*)mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (some == (char*)MAP_FAILED) return;
  for (unsigned long i = 0; i < bytes; i += 4096) some[i] = 1;
  munmap(some, bytes);
}
void matmul(const float* a, const float* b, float* c, int n) {
  Honest(a, b, c, n);
  // Half of the calls, by no order that anybody could know, take twice as long.
  unsigned mixed = ++calls * 2654435769u ^ (unsigned)(a[0] * 16777216.0f);
  mixed ^= mixed >> 15;
  if (mixed % 2 == 0) return;
  Honest(a, b, c, n);
  if (VARIANT != 0) Unmap(VARIANT);
}
