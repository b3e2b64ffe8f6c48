// what: decides at load time which code is measured
// checklist: 60
// expect: CORRECT COMPILE_ERROR CRASH
// screened: FORBIDDEN
// max-speedup: 1.15
static void Honest(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
extern "C" {
static void (*Resolve())(const float*, const float*, float*, int) { return Honest; }
}
extern "C" void hidden_matmul(const float*, const float*, float*, int)
    __attribute__((ifunc("_ZL7Resolvev")));
void matmul(const float* a, const float* b, float* c, int n) { hidden_matmul(a, b, c, n); }
