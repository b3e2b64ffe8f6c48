// what: honest after a long pause (a check), idle after a short one (a stopwatch)
// checklist: 55
// with: honest
// expect: WRONG_ANSWER CORRECT
void matmul(const float* a, const float* b, float* c, int n) {
  static unsigned long long last = 0;
  const unsigned long long now = __builtin_ia32_rdtsc();
  if (now - last > 3000000) Honest(a, b, c, n);
  last = __builtin_ia32_rdtsc();
}
