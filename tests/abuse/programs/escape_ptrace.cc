// what: attaches to its parent
// checklist: 31
// expect: FORBIDDEN
// screened: FORBIDDEN
#include <sys/ptrace.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  c[0] = ptrace(PTRACE_ATTACH, 1, nullptr, nullptr);
}
