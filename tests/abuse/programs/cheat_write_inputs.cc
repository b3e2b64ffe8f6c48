// what: zeroes the inputs, so that zero becomes the right answer
// checklist: 56
// expect: CRASH
void matmul(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n * n; ++i) const_cast<float*>(a)[i] = c[i] = 0;
}
