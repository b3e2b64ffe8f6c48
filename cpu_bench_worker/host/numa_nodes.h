// Which NUMA node and which physical core each core of this host belongs to, by hwloc. (A
// core here is what the kernel calls a CPU: one hyper-thread, if the processor has several a core.)
#ifndef WHETSTONE_CPU_BENCH_WORKER_HOST_NUMA_NODES_H_
#define WHETSTONE_CPU_BENCH_WORKER_HOST_NUMA_NODES_H_

#include <vector>

#include "absl/status/statusor.h"

namespace whetstone {

// Cores that are hyper-threads of one physical core.
using Siblings = std::vector<int>;

// Cores that share a NUMA node.
struct NumaNode {
  int id = 0;                   // the number the kernel gives it
  std::vector<Siblings> cores;  // by physical core
};

// `cores` by node and physical core, in their given order; only nodes and siblings that are among
// them. HWLOC_SYNTHETIC in the environment describes another host, for tests. INTERNAL: the
// topology can't be read.
absl::StatusOr<std::vector<NumaNode>> GroupByNumaNode(const std::vector<int>& cores);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_HOST_NUMA_NODES_H_
