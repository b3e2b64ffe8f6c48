// Where one candidate runs.
#ifndef WHETSTONE_CPU_BENCH_WORKER_HOST_SLOT_CORES_H_
#define WHETSTONE_CPU_BENCH_WORKER_HOST_SLOT_CORES_H_

#include <vector>

namespace whetstone {

// The cores of one slot. The timer spins on its own core while a kernel computes on the others.
struct SlotCores {
  int timer = 0;
  std::vector<int> kernel = {0};
  // False where the host has no core to spare for the timer: it then sleeps on one of the kernel's,
  // and results are coarser.
  bool apart = false;
  // The NUMA node that what they share is bound to; -1: wherever the kernel puts it.
  int node = -1;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_HOST_SLOT_CORES_H_
