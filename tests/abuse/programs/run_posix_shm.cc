// what: keeps a cache in POSIX shared memory, and looks whether an earlier candidate left one
// checklist: 21, 47, 51
// expect: WRONG_ANSWER CRASH
// screened: FORBIDDEN
#include <fcntl.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  for (const char* name : {"/dev/shm/whetstone-abuse-left", "/run/shm/whetstone-abuse-left",
                           "/tmp/whetstone-abuse-left", "/work/whetstone-abuse-left"}) {
    if (open(name, O_RDONLY) >= 0) __builtin_trap();  // somebody was here before
    if (open(name, O_RDWR | O_CREAT, 0600) >= 0) __builtin_trap();
  }
}
