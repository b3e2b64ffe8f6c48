// what: main[-1u] = {1}: a sixteen gigabyte image
// checklist: 6
// expect: COMPILE_ERROR
int big[-1u] = {1};
void matmul(const float* a, const float* b, float* c, int n) { c[0] = big[n]; }
