// what: looks for descriptors that somebody forgot; whoever finds one dies of it
// checklist: 33
// expect: WRONG_ANSWER
// screened: FORBIDDEN
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  for (int fd = 3; fd < 66000; ++fd) {
    struct stat info;
    if (fstat(fd, &info) == 0) __builtin_trap();
  }
}
