// what: ends with the widest instructions, which lower the clock of some processors for a while
// checklist: 63
// with: honest
// expect: CORRECT
#include <immintrin.h>
#if defined(__AVX512F__)
static void Heat() {
  __m512 x = _mm512_set1_ps(1.0f), y = x, z = x;
  for (int i = 0; i < 2000; ++i) {
    x = _mm512_fmadd_ps(x, y, z);
    y = _mm512_fmadd_ps(y, z, x);
    z = _mm512_fmadd_ps(z, x, y);
  }
  volatile float sink = _mm512_reduce_add_ps(_mm512_add_ps(x, _mm512_add_ps(y, z)));
  (void)sink;
}
#else
static void Heat() {}
#endif
void matmul(const float* a, const float* b, float* c, int n) {
  Honest(a, b, c, n);
  Heat();
}
