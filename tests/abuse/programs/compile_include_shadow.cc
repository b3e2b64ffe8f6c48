// what: #include of a secret of the host
// checklist: 2
// expect: COMPILE_ERROR
#include "/etc/shadow"
void matmul(const float* a, const float* b, float* c, int n) {}
