// what: calls the kernel by its other numberings, which a filter may not know
// checklist: 37
// expect: FORBIDDEN CRASH
// screened: FORBIDDEN
// variant: x32: syscall(0x40000000 + SYS_getpid)
// variant: x32_ptrace: syscall(0x40000000 + 521, 0, 0, 0, 0)
// variant: negative: syscall(-1)
// variant: large: syscall(100000)
// variant: far: Far()
#include <sys/syscall.h>
#include <unistd.h>
// A jump to the 32-bit code segment.
__attribute__((used)) static int Far() {
  __asm__ volatile("pushq $0x23\n\tpushq $0x1000\n\tlretq");
  return 0;
}
void matmul(const float* a, const float* b, float* c, int n) { c[0] = VARIANT; }
