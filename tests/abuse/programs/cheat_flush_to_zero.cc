// what: leaves another rounding behind for the code after it
// checklist: 57
// expect: CORRECT WRONG_ANSWER
#include <immintrin.h>
void matmul(const float* a, const float* b, float* c, int n) {
  _mm_setcsr(_mm_getcsr() | 0x8040 | 0x6000);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
