// what: makes a link to a host file
// checklist: 43
// expect: FORBIDDEN
// screened: FORBIDDEN
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  c[0] = symlink("/etc/shadow", "/work/out");
}
