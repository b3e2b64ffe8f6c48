// what: becomes another program
// checklist: 13
// expect: FORBIDDEN
// screened: FORBIDDEN
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  execl("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "ld", (char*)nullptr);
  c[0] = 0;
}
