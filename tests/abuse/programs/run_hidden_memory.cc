// what: hides memory where the size of a process does not show it
// checklist: 21
// expect: FORBIDDEN CRASH MEMORY_LIMIT TIMEOUT
// screened: FORBIDDEN
// variant: pipe: pipe(pair) == 0 && write(pair[1], block, sizeof(block)) > 0
// variant: sysv: shmat(shmget(IPC_PRIVATE, 1 << 30, 0600), nullptr, 0) != (void*)-1
// variant: messages: msgsnd(msgget(IPC_PRIVATE, 0600), block, 4096, 0) == 0
// variant: memfd: ftruncate(memfd_create("x", 0), 1LL << 30) == 0
// variant: shared: Touch(MAP_SHARED | MAP_ANONYMOUS)
// variant: huge: Touch(MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB) || dup(0)
// variant: socket: socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>
static char block[65536] = {1};
__attribute__((used)) static bool Touch(int flags) {
  for (;;) {
    char* pages = (char*)mmap(nullptr, 64 << 20, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (pages == MAP_FAILED) __builtin_trap();
    for (int i = 0; i < 64 << 20; i += 4096) pages[i] = 1;
  }
}
void matmul(const float* a, const float* b, float* c, int n) {
  int pair[2];
  while (VARIANT) c[0] = pair[0];
}
