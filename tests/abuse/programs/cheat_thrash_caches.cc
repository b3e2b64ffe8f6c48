// what: empties the caches after its own work, so that the reference starts cold
// checklist: 63
// with: honest
// expect: CORRECT WRONG_ANSWER
// screened: CORRECT FORBIDDEN
// twin: (void)0
// variant: flush: Flush(a, b, n)
// variant: fill: Fill()
// variant: code: Flush((const float*)&Honest - 500, (const float*)&Honest, 32)
static void Flush(const float* a, const float* b, int n) {
  for (int i = 0; i < n * n; i += 16) {
    __builtin_ia32_clflush(a + i);
    __builtin_ia32_clflush(b + i);
  }
}
static void Fill() {
  static char big[1 << 20];
  for (int i = 0; i < 1 << 20; i += 64) big[i] += 1;
}
void matmul(const float* a, const float* b, float* c, int n) {
  Honest(a, b, c, n);
  VARIANT;
  (void)&Fill;
  (void)&Flush;
}
