// Clones the init program into new namespaces out of a multi-threaded parent.
//
// The clone shares the parent's memory until it executes whet-sandbox (no page table is copied, no
// fork handler runs, no lock can be held), so between clone and exec it makes system calls only and
// touches nothing of the parent's but its own stack and the CloneRequest. clone_init.cc is
// therefore compiled without sanitizers and calls no library function, not even for errno, which
// would be the parent thread's.
#ifndef WHETSTONE_SANDBOX_CLONE_INIT_H_
#define WHETSTONE_SANDBOX_CLONE_INIT_H_

#include <sys/types.h>

namespace whetstone {

// Everything must stay valid, and the stack mapped, until the clone has executed or ended.
struct CloneRequest {
  int init_fd = -1;          // whet-sandbox, open
  const int* fds = nullptr;  // becomes descriptors 0, 1, 2 … of the init program
  int fd_count = 0;          // fds[kControlFd] carries the go byte in and a Message out
  char* const* argv = nullptr;
  int cgroup_fd = -1;         // folder of a v2 control group to be born in, or -1
  void* stack_low = nullptr;  // lowest address
  size_t stack_bytes = 0;
};

// Returns the clone's pid and stores its pidfd, or returns -errno. The clone waits for one byte on
// its control descriptor before it executes: map its user ids meanwhile.
pid_t CloneInit(const CloneRequest& request, int* pidfd);

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_CLONE_INIT_H_
