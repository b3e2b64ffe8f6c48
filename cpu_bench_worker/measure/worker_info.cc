#include "cpu_bench_worker/measure/worker_info.h"

#include <unistd.h>

#include <string>

#include "common/host.h"
#include "cpu_bench_worker/build/isa.h"

namespace whetstone {

v1::WorkerInfo DescribeWorker(const CorePlan& plan, const std::vector<ToolChain>& tools,
                              const Isolation& isolation, const v1::MeasuredOn& host) {
  v1::WorkerInfo info;
  info.set_host_id(HostId());
  info.set_hostname(Hostname());
  info.set_cpu_model(host.cpu_model());
  info.set_cores(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  for (const std::string& name : IsaExtensions()) info.add_isa(name);
  info.set_compiler(tools[0].version);
  for (size_t i = 1; i < tools.size(); ++i) info.add_other_compilers(tools[i].version);
  info.set_isolation(isolation.summary);
  for (const std::string& what : isolation.missing) info.add_isolation_missing(what);
  switch (isolation.level) {
    case Isolation::Level::kNamespaces:
      info.set_isolation_level(v1::NAMESPACES);
      break;
    case Isolation::Level::kLandlock:
      info.set_isolation_level(v1::LANDLOCK);
      break;
    case Isolation::Level::kCgroups:
      info.set_isolation_level(v1::CGROUPS);
      break;
  }
  info.set_slots(static_cast<int>(plan.slots.size()));
  for (const SlotCores& slot : plan.slots) {
    info.add_slot_cores(slot.timer);
    for (const int core : slot.kernel)
      if (core != slot.timer) info.add_slot_cores(core);
  }
  for (const int core : plan.idle) info.add_slot_cores(core);
  info.set_microcode(host.microcode());
  info.mutable_build_cores()->Assign(plan.build.begin(), plan.build.end());
  info.set_build_apart(plan.build_apart);
  info.set_slots_apart_max(plan.slots_apart_max);
  info.set_numa_nodes(plan.nodes);
  info.set_threads_max(static_cast<int>(plan.all.size()));
  info.set_threads_apart_max(static_cast<int>(plan.all.size()) - 1);
  return info;
}

}  // namespace whetstone
