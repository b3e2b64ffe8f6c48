// what: hopes that fresh memory still holds somebody's answer: heap, stack, new mappings
// checklist: 53
// expect: WRONG_ANSWER
// screened: FORBIDDEN WRONG_ANSWER
// variant: heap: (float*)malloc(n* n * 4 + 64)
// variant: mapping: (float*)mmap(nullptr, n* n * 4, 3, 0x22 | 0x4000000 /* UNINITIALIZED */, -1, 0)
// variant: stack: (float*)__builtin_alloca(n* n * 4)
#include <sys/mman.h>

#include <cstdlib>
void matmul(const float* a, const float* b, float* c, int n) {
  float* stale = VARIANT;
  __asm__ volatile("" : "+r"(stale) : : "memory");
  for (int i = 0; i < n * n; ++i) c[i] = stale == nullptr || stale == MAP_FAILED ? 0 : stale[i];
}
