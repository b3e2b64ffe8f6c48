// Memory and CPU time of the whole process tree, read from the private /proc.
//
// This is the fallback where no cgroup limits the tree: rlimits bound each process, the watchdog
// their sum. It sees what /proc shows at a tick, so a burst shorter than a tick can pass the sum
// (never the limits of single processes).
#ifndef WHETSTONE_SANDBOX_INIT_TREE_WATCH_H_
#define WHETSTONE_SANDBOX_INIT_TREE_WATCH_H_

#include <cstdint>

namespace whetstone {

struct TreeUse {
  int64_t memory_bytes = 0;  // sum of resident sets; pages shared by fork count for each
  int64_t cpu_ns = 0;        // of living processes and of children they waited for
};

// Adds up every process but the init program itself. `proc_fd` is from OpenPrivateProc.
TreeUse ReadTreeUse(int proc_fd);

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_INIT_TREE_WATCH_H_
