// what: a directory tree too deep for anybody who cleans up recursively
// checklist: 19
// expect: FORBIDDEN
// screened: FORBIDDEN
#include <sys/stat.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  while (mkdir("/tmp/d", 0755) == 0 && chdir("/tmp/d") == 0) c[0] += 1;
}
