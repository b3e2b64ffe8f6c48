// what: ends with success before anything is checked
// checklist: 50
// expect: CRASH
// screened: FORBIDDEN
#include <unistd.h>
__attribute__((constructor)) static void Early() { _exit(0); }
void matmul(const float* a, const float* b, float* c, int n) { c[0] = 1; }
