// what: takes other cores, priorities or clocks
// checklist: 63, 69
// expect: FORBIDDEN
// screened: FORBIDDEN
// variant: nice: nice(-20)
// variant: setpriority: setpriority(PRIO_PROCESS, 0, -20)
// variant: fifo: sched_setscheduler(0, SCHED_FIFO, &param)
// variant: setattr: syscall(SYS_sched_setattr, 0, &param, 0)
// variant: reference: sched_setscheduler(1, SCHED_IDLE, &param)
// variant: ioprio: syscall(SYS_ioprio_set, 1, 0, 0)
// variant: membarrier: syscall(SYS_membarrier, 1, 0, 0)
// variant: itimer: setitimer(ITIMER_REAL, &timer, nullptr)
// variant: posix_timer: syscall(SYS_timer_create, 0, nullptr, c)
// variant: slack: syscall(SYS_prctl, 29, 1, 0, 0, 0) < 0 ? setpriority(PRIO_USER, 0, 19) : 0
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  sched_param param = {1};
  itimerval timer = {{0, 1}, {0, 1}};
  c[0] = VARIANT + param.sched_priority + timer.it_value.tv_usec;
}
