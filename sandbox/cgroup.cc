#include "sandbox/cgroup.h"

#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <utility>

#include "common/file.h"
#include "common/status_macros.h"
#include "sandbox/cgroup_kinds.h"

namespace whetstone {
namespace {

class NoGroup final : public Cgroup {
 public:
  pid_t Clone(CloneRequest* request, int* pidfd) override { return CloneInit(*request, pidfd); }
  int cpu_fd() const override { return -1; }
  CgroupUse Use() override { return {}; }
};

class NoPool final : public CgroupPool {
 public:
  std::string summary() const override { return "none"; }
  absl::StatusOr<std::unique_ptr<Cgroup>> Take(const CgroupLimits&) override {
    return std::make_unique<NoGroup>();
  }
};

std::mutex host_mutex;
CgroupPool* host_pool = nullptr;
pid_t host_pid = 0;

// Folders outlive a process that does not remove them.
void RemoveHostPool() {
  const std::lock_guard<std::mutex> lock(host_mutex);
  if (host_pid == getpid()) delete std::exchange(host_pool, nullptr);
}

CgroupHome Home() {
  return ParseCgroupHome(ReadFile("/proc/self/mountinfo").value_or(""),
                         ReadFile("/proc/self/cgroup").value_or(""));
}

std::unique_ptr<CgroupPool> BestPool() {
  const CgroupHome home = Home();
  absl::StatusOr<OpenedPool> v2 = OpenCgroupV2(home);
  if (v2.ok() && v2->limits_memory) return std::move(v2->pool);
  absl::StatusOr<OpenedPool> v1 = OpenCgroupV1(home);
  if (v1.ok() && (v1->limits_memory || !v2.ok())) return std::move(v1->pool);
  if (v2.ok()) return std::move(v2->pool);
  return std::make_unique<NoPool>();
}

}  // namespace

CgroupPool& CgroupPool::Host() {
  const std::lock_guard<std::mutex> lock(host_mutex);
  // A forked child has the parent's pool, but none of its threads: it needs one of its own.
  if (host_pool == nullptr || host_pid != getpid()) {
    if (host_pool == nullptr) std::atexit(RemoveHostPool);
    host_pid = getpid();
    host_pool = BestPool().release();
  }
  return *host_pool;
}

absl::StatusOr<std::unique_ptr<CgroupPool>> CgroupPool::Open(CgroupKind kind) {
  if (kind == CgroupKind::kNone) return std::make_unique<NoPool>();
  ASSIGN_OR_RETURN(OpenedPool opened,
                   kind == CgroupKind::kV1 ? OpenCgroupV1(Home()) : OpenCgroupV2(Home()));
  return std::move(opened.pool);
}

}  // namespace whetstone
