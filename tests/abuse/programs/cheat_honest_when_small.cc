// what: honest for small sizes, idle for large ones
// checklist: 55, 59
// expect: WRONG_ANSWER
void matmul(const float* a, const float* b, float* c, int n) {
  if (n > 17) return;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
