// what: an infinite error must not be within an infinite tolerance
// checklist: 54
// expect: WRONG_ANSWER
void matmul(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n * n; ++i) c[i] = __builtin_inff();
}
