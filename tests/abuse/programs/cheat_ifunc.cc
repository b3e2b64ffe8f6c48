// what: decides at load time which code is measured
// checklist: 60
// with: honest
// expect: CORRECT COMPILE_ERROR CRASH
// screened: FORBIDDEN
extern "C" {
static void (*Resolve())(const float*, const float*, float*, int) { return Honest; }
}
extern "C" void hidden_matmul(const float*, const float*, float*, int)
    __attribute__((ifunc("_ZL7Resolvev")));
void matmul(const float* a, const float* b, float* c, int n) { hidden_matmul(a, b, c, n); }
