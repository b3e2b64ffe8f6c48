// what: a file that includes itself
// checklist: 3
// expect: COMPILE_ERROR
#include __FILE__
void matmul(const float* a, const float* b, float* c, int n) {}
