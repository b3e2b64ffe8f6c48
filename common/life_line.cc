#include "common/life_line.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace whetstone {

void HoldLifeLine(int fd) {
  if (fd < 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::thread([fd] {
    char byte;
    while (true) {
      const ssize_t n = read(fd, &byte, 1);
      if (n == 0 || (n < 0 && errno != EINTR)) _exit(0);
    }
  }).detach();
}

}  // namespace whetstone
