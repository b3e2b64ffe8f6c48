// what: locks memory
// checklist: 27
// expect: FORBIDDEN
// screened: FORBIDDEN
#include <sys/mman.h>
void matmul(const float* a, const float* b, float* c, int n) { mlock(c, 4096); }
