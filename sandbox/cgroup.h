// Control groups: limits and accounts for a whole process tree, where the host has them.
//
//   CgroupPool& pool = CgroupPool::Host();
//   ASSIGN_OR_RETURN(std::unique_ptr<Cgroup> group, pool.Take({.memory_bytes = 1 << 30,
//                                                              .processes = 64}));
//   const pid_t init = group->Clone(&request, &pidfd);  // born inside
//   …                                                   // until the tree is dead
//   const CgroupUse use = group->Use();
//
// A process is never moved into a group: that waits for the kernel's grace period (6 to 25 ms). It
// is born there: with v2 by clone3(CLONE_INTO_CGROUP), with v1 by a launcher thread that stays in
// the group and clones from there; groups of v1 are therefore kept and used again.
//
// All groups of a worker lie below one folder of its own (CgroupFolderName). They are removed when
// the worker exits; what a killed worker leaves is removed by the next pool on that host.
// Thread-safe; a Cgroup belongs to one thread at a time.
#ifndef WHETSTONE_SANDBOX_CGROUP_H_
#define WHETSTONE_SANDBOX_CGROUP_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "sandbox/clone_init.h"

namespace whetstone {

enum class CgroupKind { kNone, kV1, kV2 };

struct CgroupLimits {
  int64_t memory_bytes = 0;  // resident and kernel memory, files in tmpfs; no swap
  int processes = 0;         // threads too, the init program included
};

// What the tree used, as far as the group has the controller; 0 where not.
struct CgroupUse {
  int64_t memory_bytes_peak = 0;
  int64_t cpu_ns = 0;
  bool out_of_memory = false;  // the kernel killed something in it for its memory limit
};

// The group of one tree. Destroy it when the tree is dead.
class Cgroup {
 public:
  virtual ~Cgroup() = default;
  // CloneInit (clone_init.h, whose rules on the life of *request hold) with the clone born in this
  // group. Once per group.
  virtual pid_t Clone(CloneRequest* request, int* pidfd) = 0;
  // Readable at offset 0: CPU time of the tree so far, as parsed by ParseCgroupCpuNs (plan.h); -1
  // where no group counts it. Borrowed.
  virtual int cpu_fd() const = 0;
  virtual CgroupUse Use() = 0;
};

class CgroupPool {
 public:
  virtual ~CgroupPool() = default;
  // What this process uses: v2 where it has a memory controller that we may use, else v1 likewise,
  // else v2 for accounts alone, else none. Made once.
  static CgroupPool& Host();
  // One kind, for tests. FAILED_PRECONDITION: why it can't be had here, and what would change that.
  static absl::StatusOr<std::unique_ptr<CgroupPool>> Open(CgroupKind kind);

  // "v2(memory,pids,cpu)", "v1(memory,pids,cpu)", "none": the controllers that are in force.
  virtual std::string summary() const = 0;
  // RESOURCE_EXHAUSTED: the host refuses one more group.
  virtual absl::StatusOr<std::unique_ptr<Cgroup>> Take(const CgroupLimits& limits) = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_CGROUP_H_
