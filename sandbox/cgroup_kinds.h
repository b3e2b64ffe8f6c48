// The two kinds of control groups behind cgroup.h.
#ifndef WHETSTONE_SANDBOX_CGROUP_KINDS_H_
#define WHETSTONE_SANDBOX_CGROUP_KINDS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sandbox/cgroup.h"
#include "sandbox/cgroup_files.h"

namespace whetstone {

struct OpenedPool {
  std::unique_ptr<CgroupPool> pool;
  bool limits_memory = false;
};

absl::StatusOr<OpenedPool> OpenCgroupV1(const CgroupHome& home);
absl::StatusOr<OpenedPool> OpenCgroupV2(const CgroupHome& home);

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_CGROUP_KINDS_H_
