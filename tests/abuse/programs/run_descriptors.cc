// what: uses up descriptors
// checklist: 20
// expect: FORBIDDEN WRONG_ANSWER
// screened: FORBIDDEN
// variant: open: open("/usr/lib", O_RDONLY)
// variant: dup: dup(0)
// variant: pipe: pipe(pair)
// variant: event: eventfd(0, 0)
// variant: epoll: epoll_create1(0)
// variant: timer: timerfd_create(CLOCK_MONOTONIC, 0)
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  int pair[2];
  while (VARIANT >= 0) c[0] = pair[0];
}
