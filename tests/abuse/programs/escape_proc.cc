// what: looks for the host in /proc, /sys, /dev and above its root; whoever finds it dies of it
// checklist: 32, 39
// expect: WRONG_ANSWER
// screened: FORBIDDEN
// variant: root: "/proc/1/root/etc/passwd"
// variant: mem: "/proc/1/mem"
// variant: environ: "/proc/1/environ"
// variant: self: "/proc/self/mem"
// variant: fd: "/proc/self/fd/3"
// variant: thread: "/proc/thread-self/schedstat"
// variant: dots: "../../../../../../etc/passwd"
// variant: old: "/.old/etc/passwd"
// variant: sys: "/sys/kernel/mm/transparent_hugepage/enabled"
// variant: device: "/dev/urandom"
// variant: tmp: "/tmp/../../root"
#include <fcntl.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  if (open(VARIANT, O_RDONLY) >= 0) __builtin_trap();
}
