#include <mutex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "sandbox/cgroup.h"
#include "sandbox/plan/landlock.h"
#include "sandbox/sandbox.h"

namespace whetstone {
namespace {

// Says what keeps a kind of control groups from limiting, and the command that would change it.
std::string WhyNot(CgroupKind kind) {
  const absl::StatusOr<std::unique_ptr<CgroupPool>> pool = CgroupPool::Open(kind);
  if (!pool.ok()) return std::string(pool.status().message());
  return absl::StrCat("cgroup ", (*pool)->summary(),
                      " is all that this host has: boot with systemd.unified_cgroup_hierarchy=1");
}

absl::StatusOr<Isolation> TryEverything() {
  // Every mechanism but Landlock is mandatory: one that fails is the error of this run.
  SandboxSpec spec;
  spec.argv = {"/usr/bin/true"};
  spec.profile = Profile::kCompile;
  ASSIGN_OR_RETURN(const SandboxResult result, Sandbox::Run(spec));
  if (result.exit != SandboxExit::kExited || result.exit_code != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("sandbox: /usr/bin/true did not run inside (exit code ", result.exit_code,
                     ", signal ", result.signal, "): ", result.stderr_text));
  }
  Isolation isolation;
  const int abi = LandlockAbi();
  const std::string cgroup = CgroupPool::Host().summary();
  const bool limited = absl::StrContains(cgroup, "memory") && absl::StrContains(cgroup, "pids");
  isolation.summary = absl::StrCat(
      "userns,mount,pid,net,ipc,uts,seccomp,landlock:", abi > 0 ? absl::StrCat(abi) : "none",
      ",rlimits,cgroup:", cgroup);
  if (abi > 0) {
    isolation.level = limited ? Isolation::Level::kCgroups : Isolation::Level::kLandlock;
  } else {
    isolation.missing.push_back(
        "Landlock: boot a kernel with CONFIG_SECURITY_LANDLOCK and landlock in the lsm= parameter");
  }
  if (!limited) {
    isolation.missing.push_back(
        absl::StrCat("control groups that limit memory and processes (in force: ", cgroup,
                     "; rlimits and a watchdog stand in): ", WhyNot(CgroupKind::kV2), "; or ",
                     WhyNot(CgroupKind::kV1)));
  }
  return isolation;
}

}  // namespace

absl::StatusOr<Isolation> Sandbox::Probe() {
  static std::mutex mutex;
  static Isolation* known = nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  // A failure is not cached: the operator may repair the host while the service runs.
  if (known == nullptr) {
    ASSIGN_OR_RETURN(Isolation isolation, TryEverything());
    known = new Isolation(std::move(isolation));
  }
  return *known;
}

}  // namespace whetstone
