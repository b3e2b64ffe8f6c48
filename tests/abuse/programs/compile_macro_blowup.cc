// what: macros that expand to billions of tokens
// checklist: 5
// expect: COMPILE_ERROR
#define A(x) x x x x x x x x x x x x x x x x
#define B(x) A(A(A(x)))
#define C(x) B(B(x))
void matmul(const float* a, const float* b, float* c, int n) { C(B(c[0] += 1;)) }
