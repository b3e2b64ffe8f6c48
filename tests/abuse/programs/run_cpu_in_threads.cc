// what: hides processor time in threads, made without the library's help
// checklist: 26, 69
// expect: FORBIDDEN
// screened: FORBIDDEN
// variant: clone: syscall(SYS_clone, 0x10f00, stack + sizeof(stack), 0, 0, 0)
// variant: clone3: syscall(SYS_clone3, nullptr, 0)
// variant: worker: syscall(SYS_io_uring_setup, 8, stack)
#include <sys/syscall.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  alignas(16) static char stack[65536];
  c[0] = VARIANT;
  if (c[0] == 0) {
    for (;;) {
    }
  }
}
