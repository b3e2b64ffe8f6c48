// what: puts links, pipes, devices and folders where results are collected, and swaps them
// checklist: 43, 44, 45, 46
// expect: FORBIDDEN
// screened: FORBIDDEN
// variant: fifo: mkfifo("/work/kernel.so", 0600)
// variant: device: mknod("/work/kernel.so", S_IFCHR | 0600, makedev(1, 5))
// variant: folder: mkdir("/work/kernel.so", 0755)
// variant: hard_link: link("/whetstone/kernel.so", "/work/kernel.so")
// variant: over: rename("/etc/shadow", "/whetstone/kernel.so")
// variant: swap: syscall(SYS_renameat2, -100, "/work/a", -100, "/work/b", 2 /* exchange */)
// variant: remove: unlink("/whetstone/kernel.so")
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
void matmul(const float* a, const float* b, float* c, int n) {
  for (;;) c[0] = VARIANT;
}
