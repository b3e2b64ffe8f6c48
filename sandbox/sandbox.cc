#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "sandbox/cgroup.h"
#include "sandbox/clone_init.h"
#include "sandbox/init_program.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/setup_step.h"
#include "sandbox/plan_builder.h"

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

// Setting up takes a few milliseconds; a host that needs longer than this is broken or frozen.
constexpr std::chrono::seconds kStartDeadline{20};
// The end may take so long beyond the program's own wall limit: killing and reaping the tree,
// copying results.
constexpr std::chrono::seconds kWaitGrace{30};
constexpr size_t kCloneStackBytes = 64 << 10;

absl::Status SetupError(SetupStep step, int error, const std::string& detail) {
  const std::string text = DescribeSetupFailure(step, error, detail);
  switch (step) {
    case SetupStep::kBind:
    case SetupStep::kOpenProgram:
    case SetupStep::kExecProgram:
    case SetupStep::kWriteFiles:
    case SetupStep::kPassDescriptors:
    case SetupStep::kAffinity:
      return absl::InvalidArgumentError(text);
    default:
      if (error == EBADF) return absl::InvalidArgumentError(text);  // A passed descriptor is bad.
      return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE
                 ? absl::ResourceExhaustedError(text)
                 : absl::FailedPreconditionError(text);
  }
}

// Waits until `fd` is readable or closed; returns false at the deadline.
bool WaitReadable(int fd, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd entry = {fd, POLLIN, 0};
    const int ready =
        poll(&entry, 1, static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000)));
    if (ready > 0) return true;
    if (ready == 0 && Clock::now() >= deadline) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool WriteText(const std::string& path, absl::string_view text) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.get() >= 0 &&
         write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// The clone has no privileges to map its own ids; its parent has.
absl::Status MapIds(pid_t pid, bool privileged) {
  const std::string folder = absl::StrCat("/proc/", pid, "/");
  std::string uid_map;
  std::string gid_map;
  if (privileged) {
    // Root inside is root outside, only while the file system view is built, so that binds may come
    // from folders that only root can enter; the program runs as kProgramId.
    uid_map = absl::StrCat("0 0 1\n", kProgramId, " ", kOutsideId, " 1\n");
    gid_map = uid_map;
  } else {
    uid_map = absl::StrCat("0 ", geteuid(), " 1\n");
    gid_map = absl::StrCat("0 ", getegid(), " 1\n");
    if (!WriteText(folder + "setgroups", "deny")) {
      return SetupError(SetupStep::kMapUsers, errno, "setgroups");
    }
  }
  if (!WriteText(folder + "uid_map", uid_map) || !WriteText(folder + "gid_map", gid_map)) {
    return SetupError(SetupStep::kMapUsers, errno, "");
  }
  return absl::OkStatus();
}

class Process final : public SandboxProcess {
 public:
  Process(pid_t init_pid, UniqueFd init_pidfd, UniqueFd control, std::unique_ptr<Cgroup> group,
          const SandboxSpec& spec)
      : group_(std::move(group)),
        init_pid_(init_pid),
        init_pidfd_(std::move(init_pidfd)),
        control_(std::move(control)),
        collect_(spec.collect),
        wall_(spec.limits.wall) {}
  ~Process() override { EndInit(); }

  // The clone copied its descriptors when it was made, so `child_control` may close here, and then
  // its death shows as the end of the stream.
  absl::Status LetGo(UniqueFd child_control, bool privileged) {
    child_control.reset();
    const absl::Status mapped = MapIds(init_pid_, privileged);
    if (mapped.ok() && send(control_.get(), &kGoByte, 1, MSG_NOSIGNAL) == 1) {
      return absl::OkStatus();
    }
    // A clone that failed before this byte has said why; once it is gone, its ids can't be mapped.
    if (mapped.ok() || WaitReadable(control_.get(), Clock::now())) return AwaitStart();
    return mapped;
  }

  // Reads reports until the program has executed.
  absl::Status AwaitStart() {
    const auto deadline = Clock::now() + kStartDeadline;
    for (;;) {
      if (!WaitReadable(control_.get(), deadline)) {
        return absl::DeadlineExceededError(
            absl::StrCat("sandbox: no program started within ", kStartDeadline.count(), " s"));
      }
      Message message;
      RETURN_IF_ERROR(ReceiveMessage(&message));
      switch (message.kind) {
        case MessageKind::kSetupFailed:
          message.detail[sizeof(message.detail) - 1] = '\0';
          return SetupError(message.step, message.error, message.detail);
        case MessageKind::kStarting:
          break;
        case MessageKind::kStarted:
          if (pid_ <= 0) return absl::InternalError("sandbox: the program's pid is unknown");
          wait_deadline_ = Clock::now() + wall_ + kWaitGrace;
          return absl::OkStatus();
      }
    }
  }

  pid_t pid() const override { return pid_; }

  bool Running() override {
    if (control_.get() < 0) return false;
    pollfd entry = {control_.get(), POLLIN, 0};
    return poll(&entry, 1, 0) == 0;
  }

  void Kill() override {
    if (control_.get() >= 0) send(control_.get(), &kKillByte, 1, MSG_NOSIGNAL);
  }

  absl::StatusOr<SandboxResult> Wait() override {
    if (control_.get() < 0) return absl::FailedPreconditionError("sandbox: Wait called twice");
    SandboxResult result;
    const absl::Status status = ReceiveResult(&result);
    EndInit();
    control_.reset();
    const CgroupUse use = group_->Use();
    // Should the kernel have chosen the init program, there is no result but this one.
    if (!use.out_of_memory) RETURN_IF_ERROR(status);
    if (use.out_of_memory) result.exit = SandboxExit::kMemoryLimit;
    result.cpu = std::max(result.cpu, std::chrono::nanoseconds(use.cpu_ns));
    result.memory_bytes_peak = std::max(result.memory_bytes_peak, use.memory_bytes_peak);
    return result;
  }

 private:
  absl::Status ReceiveMessage(Message* message) {
    alignas(cmsghdr) char ancillary[CMSG_SPACE(sizeof(ucred))] = {};
    iovec part = {message, sizeof(*message)};
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = ancillary;
    header.msg_controllen = sizeof(ancillary);
    const ssize_t got = recvmsg(control_.get(), &header, MSG_WAITALL | MSG_CMSG_CLOEXEC);
    if (got != static_cast<ssize_t>(sizeof(*message))) {
      return absl::InternalError(
          "sandbox: whet-sandbox ended while setting up (killed? out of memory?)");
    }
    if (message->kind != MessageKind::kStarting) return absl::OkStatus();
    // The kernel translates the sender's pid into ours.
    for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr;
         item = CMSG_NXTHDR(&header, item)) {
      if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_CREDENTIALS) continue;
      ucred credentials = {};
      std::memcpy(&credentials, CMSG_DATA(item), sizeof(credentials));
      pid_ = credentials.pid;
    }
    return absl::OkStatus();
  }

  absl::Status ReceiveBytes(void* bytes, size_t size) {
    char* at = static_cast<char*>(bytes);
    while (size > 0) {
      if (!WaitReadable(control_.get(), wait_deadline_)) {
        return absl::DeadlineExceededError(
            "sandbox: the tree did not end in time after its limits; killed");
      }
      const ssize_t got = recv(control_.get(), at, size, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        return absl::InternalError(
            "sandbox: whet-sandbox was killed from outside (out of memory?) before its result");
      }
      at += got;
      size -= static_cast<size_t>(got);
    }
    return absl::OkStatus();
  }

  absl::Status ReceiveText(int64_t size, std::string* text) {
    if (size < 0) return absl::InternalError("sandbox: corrupt result");
    text->resize(static_cast<size_t>(size));
    return ReceiveBytes(text->data(), text->size());
  }

  absl::Status ReceiveResult(SandboxResult* result) {
    ResultHeader header;
    RETURN_IF_ERROR(ReceiveBytes(&header, sizeof(header)));
    switch (header.reason) {
      case EndReason::kExited:
        result->exit = SandboxExit::kExited;
        break;
      case EndReason::kSignaled:
        result->exit = SandboxExit::kSignaled;
        break;
      case EndReason::kWallLimit:
        result->exit = SandboxExit::kWallLimit;
        break;
      case EndReason::kCpuLimit:
        result->exit = SandboxExit::kCpuLimit;
        break;
      case EndReason::kMemoryLimit:
        result->exit = SandboxExit::kMemoryLimit;
        break;
    }
    if (header.reason == EndReason::kSignaled && header.signal == SIGXFSZ) {
      result->exit = SandboxExit::kOutputLimit;
    }
    result->exit_code = header.exit_code;
    result->signal = header.signal;
    result->output_truncated = header.output_truncated != 0;
    result->wall = std::chrono::nanoseconds(header.wall_ns);
    result->cpu = std::chrono::nanoseconds(header.cpu_ns);
    result->memory_bytes_peak = header.memory_bytes_peak;
    RETURN_IF_ERROR(ReceiveText(header.stdout_bytes, &result->stdout_text));
    RETURN_IF_ERROR(ReceiveText(header.stderr_bytes, &result->stderr_text));
    for (int64_t i = 0; i < header.file_count; ++i) {
      FileHeader file;
      RETURN_IF_ERROR(ReceiveBytes(&file, sizeof(file)));
      if (file.collect_index < 0 || file.collect_index >= static_cast<int64_t>(collect_.size())) {
        return absl::InternalError("sandbox: corrupt result");
      }
      const std::string& name = collect_[static_cast<size_t>(file.collect_index)];
      RETURN_IF_ERROR(ReceiveText(file.bytes, &result->files[name]));
    }
    return absl::OkStatus();
  }

  // Ends process 1 of the namespace, and with it everything inside.
  void EndInit() {
    if (init_pid_ <= 0) return;
    syscall(SYS_pidfd_send_signal, init_pidfd_.get(), SIGKILL, nullptr, 0);
    siginfo_t info = {};
    while (waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(init_pidfd_.get()), &info,
                  WEXITED | __WALL) != 0 &&
           errno == EINTR) {
    }
    init_pid_ = -1;
  }

  const std::unique_ptr<Cgroup> group_;  // It is the tree's and goes when the tree is dead.
  pid_t init_pid_;
  UniqueFd init_pidfd_;
  UniqueFd control_;
  const std::vector<std::string> collect_;
  const std::chrono::milliseconds wall_;
  Clock::time_point wait_deadline_;
  pid_t pid_ = -1;
};

// Files in memory count too, and what the kernel and the init program need.
CgroupLimits GroupLimits(const SandboxSpec& spec) {
  constexpr int64_t kOwnBytes = int64_t{32} << 20;
  int64_t files = spec.limits.file_bytes_max;
  for (const auto& [name, content] : spec.files) files += static_cast<int64_t>(content.size());
  return {.memory_bytes = spec.limits.memory_bytes_max + files + kOwnBytes,
          .processes = spec.limits.processes_max + 1};
}

class CloneStack {
 public:
  CloneStack()
      : memory_(mmap(nullptr, kCloneStackBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {}
  ~CloneStack() {
    if (memory_ != MAP_FAILED) munmap(memory_, kCloneStackBytes);
  }
  CloneStack(const CloneStack&) = delete;
  CloneStack& operator=(const CloneStack&) = delete;
  bool ok() const { return memory_ != MAP_FAILED; }
  void* low() const { return memory_; }

 private:
  void* const memory_;
};

absl::StatusOr<UniqueFd> PlanMemfd(const std::string& bytes) {
  UniqueFd fd(memfd_create("whetstone-plan", MFD_CLOEXEC));
  if (fd.get() < 0) return SetupError(SetupStep::kPlan, errno, "memfd");
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return SetupError(SetupStep::kPlan, errno, "memfd");
    done += static_cast<size_t>(wrote);
  }
  return fd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SandboxProcess>> Sandbox::Start(const SandboxSpec& spec) {
  const bool privileged = geteuid() == 0;
  ASSIGN_OR_RETURN(const std::string plan_bytes, BuildPlan(spec, privileged));
  ASSIGN_OR_RETURN(const int init_fd, InitProgramFd());
  ASSIGN_OR_RETURN(UniqueFd plan, PlanMemfd(plan_bytes));
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return SetupError(SetupStep::kPlan, errno, "socketpair");
  }
  UniqueFd control(pair[0]);
  UniqueFd child_control(pair[1]);
  const int one = 1;
  if (setsockopt(control.get(), SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) != 0) {
    return SetupError(SetupStep::kPlan, errno, "SO_PASSCRED");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Cgroup> group, CgroupPool::Host().Take(GroupLimits(spec)));
  const int cpu_account = group->cpu_fd() >= 0 ? group->cpu_fd() : plan.get();
  std::vector<int> fds = {plan.get(), child_control.get(), cpu_account};
  for (const PassedFd& passed : spec.fds) fds.push_back(passed.host_fd);

  char name[] = "whet-sandbox";
  char* const argv[] = {name, nullptr};
  CloneStack stack;
  if (!stack.ok()) return SetupError(SetupStep::kPlan, errno, "stack");
  CloneRequest request;
  request.init_fd = init_fd;
  request.fds = fds.data();
  request.fd_count = static_cast<int>(fds.size());
  request.argv = argv;
  request.stack_low = stack.low();
  request.stack_bytes = kCloneStackBytes;
  int pidfd = -1;
  const pid_t init_pid = group->Clone(&request, &pidfd);
  if (init_pid < 0) return SetupError(SetupStep::kClone, -init_pid, "");
  // It is declared after the stack and the descriptors: its destructor ends the clone that uses
  // them.
  auto process = std::make_unique<Process>(init_pid, UniqueFd(pidfd), std::move(control),
                                           std::move(group), spec);
  RETURN_IF_ERROR(process->LetGo(std::move(child_control), privileged));
  RETURN_IF_ERROR(process->AwaitStart());
  return process;
}

absl::StatusOr<SandboxResult> Sandbox::Run(const SandboxSpec& spec) {
  ASSIGN_OR_RETURN(std::unique_ptr<SandboxProcess> process, Start(spec));
  return process->Wait();
}

}  // namespace whetstone
