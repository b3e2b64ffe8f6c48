// what: #include of an endless device
// checklist: 1
// expect: COMPILE_ERROR
#include </dev/random>
void matmul(const float* a, const float* b, float* c, int n) {}
