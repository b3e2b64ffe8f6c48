// what: moves itself to another core
// checklist: 63, 69
// expect: FORBIDDEN
// screened: FORBIDDEN
#include <sched.h>
void matmul(const float* a, const float* b, float* c, int n) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  sched_setaffinity(0, sizeof(set), &set);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
