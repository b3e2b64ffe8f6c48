// what: ends every call with something that keeps the kernel or the keeper busy a little longer
// checklist: 0, 22, 63
// with: honest
// expect: CORRECT TIMEOUT FORBIDDEN
// screened: FORBIDDEN
// variant: pipe: write(1, block, 4096)
// variant: stderr: write(2, block, 60)
// variant: yield: Yield()
// variant: huge: madvise(block, sizeof(block), MADV_DONTNEED)
// variant: nap: nanosleep(&nap, nullptr)
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
alignas(4096) static char block[1 << 20];
__attribute__((used)) static int Yield() {
  for (int i = 0; i < 50; ++i) sched_yield();
  return 0;
}
void matmul(const float* a, const float* b, float* c, int n) {
  const timespec nap = {0, 1000};
  Honest(a, b, c, n);
  volatile long ignored = VARIANT + nap.tv_nsec;
  (void)ignored;
}
