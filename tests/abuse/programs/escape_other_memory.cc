// what: reads or writes the memory of other processes
// checklist: 31
// expect: FORBIDDEN
// screened: FORBIDDEN
// variant: writev: process_vm_writev(getpid() - 1, &part, 1, &part, 1, 0)
// variant: readv: process_vm_readv(1, &part, 1, &part, 1, 0)
// variant: madvise: syscall(440 /* process_madvise */, 1, &part, 1, 21, 0)
// variant: pidfd: syscall(434 /* pidfd_open */, 1, 0)
// variant: kcmp: syscall(SYS_kcmp, 1, getpid(), 0, 0, 0)
// variant: seize: ptrace(PTRACE_SEIZE, 1, nullptr, nullptr)
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  iovec part = {c, sizeof(float)};
  c[0] = VARIANT + part.iov_len;
}
