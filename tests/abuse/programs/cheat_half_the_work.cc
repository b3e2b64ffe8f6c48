// what: computes a random-looking half of the rows
// checklist: 53
// expect: WRONG_ANSWER
void matmul(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; i += 2)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
