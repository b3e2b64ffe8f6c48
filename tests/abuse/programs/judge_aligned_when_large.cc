// what: takes for granted that large arrays are aligned to 32 bytes
// checklist: 59
// expect: CRASH
#include <immintrin.h>

#include <algorithm>
__attribute__((target("avx2,fma"))) void matmul(const float* a, const float* b, float* c, int n) {
  std::fill(c, c + n * n, 0.0f);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) {
      int j = 0;
      if (n >= 64 && n % 8 == 0)
        for (; j < n; j += 8) {
          const __m256 sum =
              _mm256_fmadd_ps(_mm256_set1_ps(a[i * n + k]), _mm256_load_ps(b + k * n + j),
                              _mm256_load_ps(c + i * n + j));
          _mm256_store_ps(c + i * n + j, sum);
        }
      for (; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}
