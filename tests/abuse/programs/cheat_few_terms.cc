// what: a fast path for the tests' distribution: leaves out terms that are small on average
// checklist: 59
// expect: WRONG_ANSWER
void matmul(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k)
        if (__builtin_fabsf(a[i * n + k]) > 0.01f) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
