// A group of cgroup v2 is a folder for each tree, entered by clone3(CLONE_INTO_CGROUP).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "sandbox/cgroup_kinds.h"

namespace whetstone {
namespace {

class GroupV2 final : public Cgroup {
 public:
  GroupV2(std::string path, UniqueFd folder, UniqueFd cpu)
      : path_(std::move(path)), folder_(std::move(folder)), cpu_(std::move(cpu)) {}
  ~GroupV2() override {
    // The tree is dead, but its last process may still be on its way out of the group.
    for (int i = 0; i < 100 && !RemoveCgroupFolder(path_); ++i) {
      WriteCgroupFile(path_ + "/cgroup.kill", "1").IgnoreError();
      usleep(1000);
    }
  }
  pid_t Clone(CloneRequest* request, int* pidfd) override {
    request->cgroup_fd = folder_.get();
    return CloneInit(*request, pidfd);
  }
  int cpu_fd() const override { return cpu_.get(); }
  CgroupUse Use() override {
    CgroupUse use;
    use.memory_bytes_peak = CgroupNumber(ReadCgroupFile(path_ + "/memory.peak"), "");
    use.cpu_ns = 1000 * CgroupNumber(ReadCgroupFile(path_ + "/cpu.stat"), "usage_usec");
    use.out_of_memory = CgroupNumber(ReadCgroupFile(path_ + "/memory.events"), "oom_kill") > 0;
    return use;
  }

 private:
  const std::string path_;
  UniqueFd folder_;
  UniqueFd cpu_;
};

class PoolV2 final : public CgroupPool {
 public:
  PoolV2(std::string home, std::string own) : home_(std::move(home)), own_(std::move(own)) {}
  ~PoolV2() override {
    if (moved_) {
      // The worker goes back to where it came from, so that nothing of ours is left behind.
      for (const std::string& controller : controllers_) {
        WriteCgroupFile(home_ + "/cgroup.subtree_control", "-" + controller).IgnoreError();
      }
      WriteCgroupFile(home_ + "/cgroup.procs", absl::StrCat(getpid())).IgnoreError();
    }
    RemoveCgroupFolder(own_);
  }

  // Passes the controllers down to the groups below our folder, as far as we may.
  void Enable() {
    for (const char* controller : {"memory", "pids"}) {
      if (!Has(home_ + "/cgroup.controllers", controller)) continue;
      const std::string plus = absl::StrCat("+", controller);
      absl::Status passed = WriteCgroupFile(home_ + "/cgroup.subtree_control", plus);
      if (!passed.ok() && !moved_ && MoveDown()) {
        passed = WriteCgroupFile(home_ + "/cgroup.subtree_control", plus);
      }
      if (WriteCgroupFile(own_ + "/cgroup.subtree_control", plus).ok()) {
        controllers_.push_back(controller);
      }
    }
  }

  bool limits_memory() const { return !controllers_.empty() && controllers_[0] == "memory"; }

  std::string summary() const override {
    std::vector<std::string> names = controllers_;
    names.push_back("cpu");
    return absl::StrCat("v2(", absl::StrJoin(names, ","), ")");
  }

  absl::StatusOr<std::unique_ptr<Cgroup>> Take(const CgroupLimits& limits) override {
    static std::atomic<int> count{0};
    const std::string path = absl::StrCat(own_, "/run-", count++);
    RETURN_IF_ERROR(MakeGroupFolder(path));
    UniqueFd folder(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    UniqueFd cpu(open((path + "/cpu.stat").c_str(), O_RDONLY | O_CLOEXEC));
    auto group = std::make_unique<GroupV2>(path, std::move(folder), std::move(cpu));
    for (const std::string& controller : controllers_) {
      if (controller == "memory") {
        RETURN_IF_ERROR(WriteCgroupFile(path + "/memory.max", absl::StrCat(limits.memory_bytes)));
        // It is absent without swap.
        WriteCgroupFile(path + "/memory.swap.max", "0").IgnoreError();
      } else {
        RETURN_IF_ERROR(WriteCgroupFile(path + "/pids.max", absl::StrCat(limits.processes)));
      }
    }
    return group;
  }

 private:
  // Whoever looks after the host's groups may have removed our folder: between two runs it holds no
  // process. Slots take groups at the same time.
  absl::Status MakeGroupFolder(const std::string& path) {
    const std::lock_guard<std::mutex> lock(making_);
    if (mkdir(path.c_str(), 0755) == 0) return absl::OkStatus();
    if (errno == ENOENT && (mkdir(own_.c_str(), 0755) == 0 || errno == EEXIST)) {
      for (const std::string& controller : controllers_) {
        RETURN_IF_ERROR(WriteCgroupFile(own_ + "/cgroup.subtree_control", "+" + controller));
      }
      if (mkdir(path.c_str(), 0755) == 0) return absl::OkStatus();
    }
    const int why = errno;
    return absl::ResourceExhaustedError(
        absl::StrCat("sandbox: no control group ", path, ": ", std::strerror(why)));
  }
  static bool Has(const std::string& path, absl::string_view word) {
    return absl::StrContains(absl::StrCat(" ", ReadCgroupFile(path), " "), word);
  }
  // A group that passes controllers down may hold no process itself: the worker moves into one
  // below. It does so only where it is alone in its group, as under systemd's Delegate=.
  bool MoveDown() {
    if (ReadCgroupFile(home_ + "/cgroup.procs") != absl::StrCat(getpid(), "\n")) return false;
    const std::string leaf = own_ + "/worker";
    if (mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return false;
    moved_ = WriteCgroupFile(leaf + "/cgroup.procs", absl::StrCat(getpid())).ok();
    return moved_;
  }

  const std::string home_;
  const std::string own_;
  std::mutex making_;
  std::vector<std::string> controllers_;
  bool moved_ = false;
};

}  // namespace

absl::StatusOr<OpenedPool> OpenCgroupV2(const CgroupHome& home) {
  if (home.v2.empty()) {
    return absl::FailedPreconditionError(
        "cgroup v2 is not mounted: mount -t cgroup2 none /sys/fs/cgroup");
  }
  absl::StatusOr<std::string> own = MakeOwnCgroupFolder(home.v2);
  if (!own.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cgroup v2: ", own.status().message(),
        "; start the worker by systemd with Delegate=yes, as deploy/systemd/whet-worker.service "
        "does"));
  }
  auto pool = std::make_unique<PoolV2>(home.v2, *own);
  pool->Enable();
  const bool memory = pool->limits_memory();
  return OpenedPool{std::move(pool), memory};
}

}  // namespace whetstone
