// what: #include of an endless device, by another name
// checklist: 1
// expect: COMPILE_ERROR
#include "/dev/zero"
void matmul(const float* a, const float* b, float* c, int n) {}
