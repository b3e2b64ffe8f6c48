// what: raises its own limits
// checklist: 28, 14
// expect: FORBIDDEN
// screened: FORBIDDEN
// variant: core: RLIMIT_CORE
// variant: memory: RLIMIT_AS
// variant: processes: RLIMIT_NPROC
// variant: lower: RLIMIT_STACK
#include <sys/resource.h>
void matmul(const float* a, const float* b, float* c, int n) {
  const rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  c[0] = setrlimit(VARIANT, &limit);
}
