// Which memory node (NUMA) each core of this host belongs to, by hwloc.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEMORY_NODES_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEMORY_NODES_H_

#include <vector>

#include "absl/status/statusor.h"

namespace whetstone {

// Cores that share a memory node.
struct CoreGroup {
  int node = 0;  // the kernel's number of it
  std::vector<int> cores;
};

// `cores` by node, in their given order; only nodes that have some. HWLOC_SYNTHETIC in the
// environment describes another host, for tests. INTERNAL: the topology can't be read.
absl::StatusOr<std::vector<CoreGroup>> GroupByNode(const std::vector<int>& cores);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEMORY_NODES_H_
