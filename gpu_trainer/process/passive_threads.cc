#include "gpu_trainer/process/passive_threads.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace whetstone {

void WaitPassively(char** argv) {
  if (getenv("OMP_WAIT_POLICY") != nullptr) {
    const char* const slash = strrchr(argv[0], '/');
    prctl(PR_SET_NAME, slash != nullptr ? slash + 1 : argv[0]);
    return;
  }
  setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0);
  execv("/proc/self/exe", argv);
  // Where that is not possible (no /proc) the program is only slower on a busy machine.
}

}  // namespace whetstone
