#include "cpu_bench_worker/host/numa_nodes.h"

#include <hwloc.h>

#include <cerrno>
#include <map>
#include <memory>

namespace whetstone {

absl::StatusOr<std::vector<NumaNode>> GroupByNumaNode(const std::vector<int>& cores) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0)
    return absl::ErrnoToStatus(errno, "hwloc: cannot begin to read the host's topology");
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> owner(
      topology, &hwloc_topology_destroy);
  if (hwloc_topology_load(topology) != 0)
    return absl::ErrnoToStatus(errno, "hwloc: cannot read the host's topology");
  std::map<int, NumaNode> nodes;
  std::map<hwloc_obj_t, size_t> seen;  // This maps physical cores to their places in their nodes.
  for (const int core : cores) {
    const hwloc_obj_t unit = hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(core));
    // A core the topology doesn't know (a container that hides it) is as good as on the first node,
    // and one of its own.
    const int node = unit == nullptr ? -1 : hwloc_bitmap_first(unit->nodeset);
    NumaNode& numa = nodes[node < 0 ? 0 : node];
    numa.id = node < 0 ? 0 : node;
    const hwloc_obj_t physical =
        unit == nullptr ? nullptr : hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, unit);
    const auto [place, first] = seen.emplace(physical, numa.cores.size());
    if (first || physical == nullptr)
      numa.cores.push_back({core});
    else
      numa.cores[place->second].push_back(core);
  }
  std::vector<NumaNode> result;
  for (auto& [node, numa] : nodes) result.push_back(std::move(numa));
  return result;
}

}  // namespace whetstone
