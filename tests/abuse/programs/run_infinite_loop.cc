// what: a busy loop
// checklist: 25
// expect: TIMEOUT
void matmul(const float* a, const float* b, float* c, int n) {
  for (volatile float* out = c;;) *out = *out + 1;
}
