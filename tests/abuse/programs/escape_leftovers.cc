// what: leaves or reads messages between jobs: locks, file times, environment, system-wide names
// checklist: 47
// expect: FORBIDDEN
// screened: FORBIDDEN
// variant: flock: flock(open("/whetstone/whet-kernel", O_RDONLY), LOCK_EX)
// variant: fcntl_lock: fcntl(open("/usr/lib", O_RDONLY), F_SETLEASE, F_RDLCK)
// variant: times: utimensat(-100, "/whetstone/kernel.so", nullptr, 0)
// variant: attribute: setxattr("/whetstone/kernel.so", "user.a", "b", 1, 0)
// variant: host_name: sethostname("left", 4)
// variant: semaphore: semget(4711, 1, 0666 | IPC_CREAT)
// variant: message: msgget(4711, 0666 | IPC_CREAT)
// variant: shared: shmget(4711, 4096, 0666 | IPC_CREAT)
// variant: queue: syscall(SYS_mq_open, "left", O_RDWR | O_CREAT, 0666, nullptr)
#include <fcntl.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) { c[0] = VARIANT; }
