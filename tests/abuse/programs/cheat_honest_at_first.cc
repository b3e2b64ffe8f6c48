// what: honest while it is checked, idle once it is timed
// checklist: 51, 55
// expect: WRONG_ANSWER
void matmul(const float* a, const float* b, float* c, int n) {
  static int calls = 0;
  if (++calls > 3) return;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
