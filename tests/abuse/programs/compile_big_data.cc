// what: a gibibyte of initialised data
// checklist: 7
// expect: COMPILE_ERROR CRASH MEMORY_LIMIT
char big[1 << 30] = {1};
void matmul(const float* a, const float* b, float* c, int n) { c[0] = big[n]; }
