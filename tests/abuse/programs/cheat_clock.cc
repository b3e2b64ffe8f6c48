// what: replaces the clock
// checklist: 50, 61
// expect: CORRECT CRASH
// screened: FORBIDDEN
#include <time.h>
extern "C" int clock_gettime(clockid_t, struct timespec* now) noexcept {
  static long calls = 0;
  now->tv_sec = 0;
  now->tv_nsec = ++calls;
  return 0;
}
void matmul(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
