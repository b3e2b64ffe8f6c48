// what: makes a file that would run as somebody else, or becomes somebody else
// checklist: 40
// expect: FORBIDDEN WRONG_ANSWER
// screened: FORBIDDEN
// variant: open: open("/tmp/whetstone-abuse-left", O_WRONLY | O_CREAT, 04755)
// variant: chmod: chmod("/tmp", 04777)
// variant: fchmod: fchmod(0, 04755)
// variant: chown: chown("/whetstone/kernel.so", 0, 0)
// variant: setuid: setuid(0)
// variant: setgroups: setgroups(0, nullptr)
// variant: capset: syscall(SYS_capset, c, c)
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  if (VARIANT >= 0) __builtin_trap();
}
