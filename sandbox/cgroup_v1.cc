// A group of cgroup v1 is one folder in each controller's hierarchy, and a launcher thread that
// lives in all of them, so that what it clones is born there. Moving the launcher in costs
// milliseconds once; the group is used again and again.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "sandbox/cgroup_kinds.h"

namespace whetstone {
namespace {

// Launcher runs one function at a time on a thread of its own.
class Launcher {
 public:
  Launcher() : thread_([this] { Loop(); }) {}
  ~Launcher() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  template <typename F>
  void Run(F&& work) {
    std::unique_lock<std::mutex> lock(mutex_);
    work_ = [&work] { work(); };
    changed_.notify_all();
    changed_.wait(lock, [this] { return work_ == nullptr; });
  }

 private:
  void Loop() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stop_ || work_ != nullptr; });
      if (work_ == nullptr) return;
      work_();
      work_ = nullptr;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool stop_ = false;
  std::thread thread_;
};

// ReusableGroup holds the folders, launcher and open files of one group that is used again.
class ReusableGroup {
 public:
  ~ReusableGroup() {
    launcher_.reset();  // The folders must be empty.
    for (const auto& [controller, path] : folders_) RemoveCgroupFolder(path);
  }

  // `own` names our folder in each controller's hierarchy.
  static absl::StatusOr<std::unique_ptr<ReusableGroup>> Make(
      const std::map<std::string, std::string>& own) {
    static std::atomic<int> count{0};
    auto group = std::make_unique<ReusableGroup>();
    const int number = count++;
    for (const auto& [controller, folder] : own) {
      const std::string path = absl::StrCat(folder, "/group-", number);
      // Our folder may have been removed, as PoolV2's.
      if (mkdir(path.c_str(), 0755) != 0 && errno == ENOENT) mkdir(folder.c_str(), 0755);
      if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
        return absl::ErrnoToStatus(errno, absl::StrCat("sandbox: no control group ", path));
      }
      group->folders_[controller] = path;
    }
    group->launcher_ = std::make_unique<Launcher>();
    absl::Status moved;
    group->launcher_->Run([&] {
      for (const auto& [controller, path] : group->folders_) {
        moved.Update(WriteCgroupFile(path + "/tasks", absl::StrCat(syscall(SYS_gettid))));
      }
    });
    RETURN_IF_ERROR(moved);
    if (group->Has("cpuacct")) {
      group->cpu_ =
          UniqueFd(open(group->File("cpuacct", "cpuacct.usage").c_str(), O_RDONLY | O_CLOEXEC));
    }
    return group;
  }

  absl::Status Prepare(const CgroupLimits& limits) {
    const bool changed =
        limits.memory_bytes != limits_.memory_bytes || limits.processes != limits_.processes;
    limits_ = {};
    if (Has("memory") && changed) {
      const std::string bytes = absl::StrCat(limits.memory_bytes);
      // Memory and swap together may never be below memory alone, so they are lifted before
      // both are lowered.
      WriteCgroupFile(File("memory", "memory.memsw.limit_in_bytes"), "-1").IgnoreError();
      RETURN_IF_ERROR(WriteCgroupFile(File("memory", "memory.limit_in_bytes"), bytes));
      WriteCgroupFile(File("memory", "memory.memsw.limit_in_bytes"), bytes).IgnoreError();
    }
    if (Has("memory")) {
      RETURN_IF_ERROR(WriteCgroupFile(File("memory", "memory.max_usage_in_bytes"), "0"));
      memory_before_ = Number("memory", "memory.usage_in_bytes", "");
      kills_before_ = Number("memory", "memory.oom_control", "oom_kill");
    }
    if (Has("pids") && changed) {  // The launcher counts too.
      RETURN_IF_ERROR(
          WriteCgroupFile(File("pids", "pids.max"), absl::StrCat(limits.processes + 1)));
    }
    if (Has("cpuacct")) RETURN_IF_ERROR(WriteCgroupFile(File("cpuacct", "cpuacct.usage"), "0"));
    limits_ = limits;
    return absl::OkStatus();
  }

  pid_t Clone(const CloneRequest& request, int* pidfd) {
    // The clone inherits its affinity from the thread that makes it, so that takes the caller's.
    cpu_set_t cores;
    const bool known = sched_getaffinity(0, sizeof(cores), &cores) == 0;
    pid_t pid = -EAGAIN;
    launcher_->Run([&] {
      if (known) sched_setaffinity(0, sizeof(cores), &cores);
      pid = CloneInit(request, pidfd);
    });
    return pid;
  }

  CgroupUse Use() {
    CgroupUse use;
    if (Has("memory")) {
      // Pages that an earlier tree read first may still be charged here.
      use.memory_bytes_peak =
          std::max<int64_t>(0, Number("memory", "memory.max_usage_in_bytes", "") - memory_before_);
      use.out_of_memory = Number("memory", "memory.oom_control", "oom_kill") > kills_before_;
    }
    if (Has("cpuacct")) use.cpu_ns = Number("cpuacct", "cpuacct.usage", "");
    return use;
  }

  int cpu_fd() const { return cpu_.get(); }

 private:
  bool Has(const std::string& controller) const { return folders_.count(controller) > 0; }
  std::string File(const std::string& controller, const char* name) const {
    return absl::StrCat(folders_.at(controller), "/", name);
  }
  int64_t Number(const std::string& controller, const char* file, absl::string_view key) const {
    return CgroupNumber(ReadCgroupFile(File(controller, file)), key);
  }

  std::map<std::string, std::string> folders_;
  std::unique_ptr<Launcher> launcher_;
  UniqueFd cpu_;
  CgroupLimits limits_;  // These are as written; zeros are to be written.
  int64_t memory_before_ = 0;
  int64_t kills_before_ = 0;
};

// FreeGroups holds groups that nobody uses; it is shared with the groups that are out.
struct FreeGroups {
  std::mutex mutex;
  std::vector<std::unique_ptr<ReusableGroup>> groups;
};

class GroupV1 final : public Cgroup {
 public:
  GroupV1(std::unique_ptr<ReusableGroup> group, std::shared_ptr<FreeGroups> free)
      : group_(std::move(group)), free_(std::move(free)) {}
  ~GroupV1() override {
    const std::lock_guard<std::mutex> lock(free_->mutex);
    free_->groups.push_back(std::move(group_));
  }
  pid_t Clone(CloneRequest* request, int* pidfd) override { return group_->Clone(*request, pidfd); }
  int cpu_fd() const override { return group_->cpu_fd(); }
  CgroupUse Use() override { return group_->Use(); }

 private:
  std::unique_ptr<ReusableGroup> group_;
  std::shared_ptr<FreeGroups> free_;
};

class PoolV1 final : public CgroupPool {
 public:
  explicit PoolV1(std::map<std::string, std::string> own) : own_(std::move(own)) {}
  ~PoolV1() override {
    {
      const std::lock_guard<std::mutex> lock(free_->mutex);
      free_->groups.clear();
    }
    for (const auto& [controller, path] : own_) RemoveCgroupFolder(path);
  }
  std::string summary() const override {
    std::vector<std::string> names;
    if (own_.count("memory") > 0) names.push_back("memory");
    if (own_.count("pids") > 0) names.push_back("pids");
    if (own_.count("cpuacct") > 0) names.push_back("cpu");
    return absl::StrCat("v1(", absl::StrJoin(names, ","), ")");
  }
  absl::StatusOr<std::unique_ptr<Cgroup>> Take(const CgroupLimits& limits) override {
    std::unique_ptr<ReusableGroup> group;
    {
      const std::lock_guard<std::mutex> lock(free_->mutex);
      if (!free_->groups.empty()) {
        group = std::move(free_->groups.back());
        free_->groups.pop_back();
      }
    }
    if (group == nullptr) {
      ASSIGN_OR_RETURN(group, ReusableGroup::Make(own_));
    }
    RETURN_IF_ERROR(group->Prepare(limits));
    return std::make_unique<GroupV1>(std::move(group), free_);
  }

 private:
  const std::map<std::string, std::string> own_;
  const std::shared_ptr<FreeGroups> free_ = std::make_shared<FreeGroups>();
};

}  // namespace

absl::StatusOr<OpenedPool> OpenCgroupV1(const CgroupHome& home) {
  if (home.v1.empty()) {
    return absl::FailedPreconditionError("cgroup v1 has no memory, pids or cpuacct hierarchy here");
  }
  std::map<std::string, std::string> own;
  absl::Status refused;
  std::string folders;
  for (const auto& [controller, folder] : home.v1) {
    absl::StrAppend(&folders, " ", folder);
    absl::StatusOr<std::string> made = MakeOwnCgroupFolder(folder);
    if (made.ok()) {
      own[controller] = *made;
    } else {
      refused = made.status();
    }
  }
  if (own.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("cgroup v1: ", refused.message(), "; chown ", geteuid(), folders));
  }
  const bool memory = own.count("memory") > 0;
  return OpenedPool{std::make_unique<PoolV1>(std::move(own)), memory};
}

}  // namespace whetstone
