// what: #include of an endless device
// expect: COMPILE_ERROR
#include </dev/random>
void matmul(const float* a, const float* b, float* c, int n) {}
