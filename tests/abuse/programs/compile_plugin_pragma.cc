// what: a pragma that asks the compiler to read a host file
// checklist: 10
// expect: COMPILE_ERROR
#pragma GCC pch_preprocess "/etc/shadow"
void matmul(const float* a, const float* b, float* c, int n) { c[0] = undeclared; }
