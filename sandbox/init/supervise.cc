#include "sandbox/init/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "sandbox/init/tree_watch.h"

namespace whetstone {
namespace {

constexpr int64_t kTickMinNs = 10'000'000;
constexpr int64_t kTickMaxNs = 320'000'000;

int64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

int64_t Nanoseconds(const timeval& time) {
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_usec * int64_t{1'000};
}

// Returns the CPU time of the tree's control group, or -1 if there is none.
int64_t ReadCpuAccount() {
  char text[128];
  const ssize_t size = pread(kCpuAccountFd, text, sizeof(text), 0);
  return size > 0 ? ParseCgroupCpuNs(std::string_view(text, static_cast<size_t>(size))) : -1;
}

class Supervisor {
 public:
  Supervisor(const Plan& plan, pid_t program, const InitPipes& pipes, int child_signals,
             int proc_fd)
      : plan_(plan),
        program_(program),
        pipes_(pipes),
        child_signals_(child_signals),
        proc_fd_(proc_fd),
        start_ns_(NowNs()),
        next_tick_ns_(start_ns_ + kTickMinNs),
        next_cpu_check_ns_(start_ns_ + plan.cpu_ns / std::max<int64_t>(1, plan.processes)) {}

  Supervised Run() {
    if (plan_.stdin_text.empty()) Feed();
    while (!ended_) {
      PollOnce();
      CheckLimits();
    }
    out_.header.wall_ns = end_ns_ - start_ns_;
    KillEverybody();
    Drain(&pipes_.stdout_read, &out_.stdout_text);
    Drain(&pipes_.stderr_read, &out_.stderr_text);
    rusage use = {};
    getrusage(RUSAGE_CHILDREN, &use);
    out_.header.cpu_ns = Nanoseconds(use.ru_utime) + Nanoseconds(use.ru_stime);
    out_.header.memory_bytes_peak =
        std::max<int64_t>(out_.header.memory_bytes_peak, int64_t{use.ru_maxrss} * 1024);
    Classify();
    out_.header.stdout_bytes = static_cast<int64_t>(out_.stdout_text.size());
    out_.header.stderr_bytes = static_cast<int64_t>(out_.stderr_text.size());
    return std::move(out_);
  }

 private:
  void PollOnce() {
    const int64_t now = NowNs();
    int64_t until = start_ns_ + plan_.wall_ns;
    if (proc_fd_ >= 0) until = std::min(until, next_tick_ns_);
    if (!plan_.watch_tree) until = std::min(until, next_cpu_check_ns_);
    const int64_t wait_ns = std::max<int64_t>(0, until - now);
    const timespec timeout = {wait_ns / 1'000'000'000, wait_ns % 1'000'000'000};
    pollfd fds[] = {{kControlFd, POLLIN, 0},
                    {child_signals_, POLLIN, 0},
                    {pipes_.stdout_read, POLLIN, 0},
                    {pipes_.stderr_read, POLLIN, 0},
                    {pipes_.stdin_write, POLLOUT, 0}};
    if (ppoll(fds, std::size(fds), &timeout, nullptr) <= 0) return;
    if (fds[0].revents != 0) ReadControl();
    if (fds[2].revents != 0) Drain(&pipes_.stdout_read, &out_.stdout_text);
    if (fds[3].revents != 0) Drain(&pipes_.stderr_read, &out_.stderr_text);
    if (fds[4].revents != 0) Feed();
    if (fds[1].revents != 0) Reap();
  }

  // The parent's end closed: it died or let go, and so does everything here.
  void ReadControl() {
    char byte = 0;
    const ssize_t got = read(kControlFd, &byte, 1);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) _exit(0);
    if (got == 1 && byte == kKillByte) kill(program_, SIGKILL);
  }

  // Reads all there is, keeps what fits: a flood must not block the program nor fill memory.
  void Drain(int* fd, std::string* text) {
    char buffer[16384];
    while (*fd >= 0) {
      const ssize_t got = read(*fd, buffer, sizeof(buffer));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) {
        close(*fd);
        *fd = -1;
        return;
      }
      const size_t room = static_cast<size_t>(plan_.output_bytes) - text->size();
      text->append(buffer, std::min(room, static_cast<size_t>(got)));
      if (static_cast<size_t>(got) > room) out_.header.output_truncated = 1;
      if (!ended_ && static_cast<size_t>(got) < sizeof(buffer)) return;
      if (!ended_ && NowNs() > start_ns_ + plan_.wall_ns) return;  // A flood has limits too.
    }
  }

  void Feed() {
    const std::string_view left = plan_.stdin_text.substr(stdin_sent_);
    const ssize_t sent = left.empty() ? 0 : write(pipes_.stdin_write, left.data(), left.size());
    if (sent > 0) stdin_sent_ += static_cast<size_t>(sent);
    const bool again = sent < 0 && (errno == EINTR || errno == EAGAIN);
    if (!again && (sent <= 0 || stdin_sent_ == plan_.stdin_text.size())) {
      close(pipes_.stdin_write);
      pipes_.stdin_write = -1;
    }
  }

  // Orphans are reaped too: an unreaped one would count against the limit of processes.
  void Reap() {
    signalfd_siginfo ignored;
    while (read(child_signals_, &ignored, sizeof(ignored)) > 0) {
    }
    for (;;) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid <= 0) return;
      if (pid == program_) RecordEnd(status);
    }
  }

  void RecordEnd(int status) {
    end_ns_ = NowNs();
    ended_ = true;
    if (WIFEXITED(status)) {
      out_.header.exit_code = WEXITSTATUS(status);
      if (!limit_hit_) out_.header.reason = EndReason::kExited;
    } else {
      out_.header.signal = WTERMSIG(status);
      if (!limit_hit_) out_.header.reason = EndReason::kSignaled;
    }
  }

  void HitLimit(EndReason reason) {
    if (limit_hit_ || ended_) return;
    limit_hit_ = true;
    out_.header.reason = reason;
    // All are killed at once: a program that merely loses its main process would go on.
    kill(-1, SIGKILL);
  }

  void CheckLimits() {
    const int64_t now = NowNs();
    if (now >= start_ns_ + plan_.wall_ns) HitLimit(EndReason::kWallLimit);
    if (!plan_.watch_tree) {
      CheckProgramCpu(now);
    } else if (proc_fd_ >= 0 && now >= next_tick_ns_) {
      CheckTree(now);
    }
    if (limit_hit_ && !ended_) {
      // SIGKILL is on its way; nothing is left to time.
      int status = 0;
      if (waitpid(program_, &status, 0) == program_) RecordEnd(status);
    }
  }

  // The CPU clock of one process is exact, and is looked at only when it could have reached the
  // limit, so that what is being timed is not disturbed.
  void CheckProgramCpu(int64_t now) {
    if (now < next_cpu_check_ns_) return;
    clockid_t clock = 0;
    timespec used = {};
    if (clock_getcpuclockid(program_, &clock) != 0 || clock_gettime(clock, &used) != 0) {
      next_cpu_check_ns_ = now + kTickMinNs;
      return;
    }
    const int64_t left_ns = plan_.cpu_ns - (used.tv_sec * int64_t{1'000'000'000} + used.tv_nsec);
    if (left_ns <= 0) {
      HitLimit(EndReason::kCpuLimit);
    } else {
      next_cpu_check_ns_ =
          now + std::max<int64_t>(1'000'000, left_ns / std::max<int64_t>(1, plan_.processes));
    }
  }

  void CheckTree(int64_t now) {
    const TreeUse use = ReadTreeUse(proc_fd_);
    rusage reaped = {};
    getrusage(RUSAGE_CHILDREN, &reaped);
    // The group counts whom nobody waited for, too.
    const int64_t cpu_ns = std::max(
        use.cpu_ns + Nanoseconds(reaped.ru_utime) + Nanoseconds(reaped.ru_stime), ReadCpuAccount());
    out_.header.memory_bytes_peak = std::max(out_.header.memory_bytes_peak, use.memory_bytes);
    if (use.memory_bytes > plan_.memory_bytes) HitLimit(EndReason::kMemoryLimit);
    if (cpu_ns >= plan_.cpu_ns) HitLimit(EndReason::kCpuLimit);
    // A tree that does nothing is looked at less often: memory does not grow without CPU time.
    tick_ns_ = cpu_ns == last_cpu_ns_ ? std::min(tick_ns_ * 2, kTickMaxNs) : kTickMinNs;
    last_cpu_ns_ = cpu_ns;
    next_tick_ns_ = now + tick_ns_;
  }

  // kill(-1) reaches every process of the namespace at once, whatever session or group it hid in.
  void KillEverybody() {
    for (;;) {
      kill(-1, SIGKILL);
      const pid_t pid = waitpid(-1, nullptr, __WALL);
      if (pid < 0 && errno == ECHILD) return;
    }
  }

  void Classify() {
    ResultHeader& header = out_.header;
    if (header.reason != EndReason::kSignaled) return;
    if (header.signal == SIGXCPU || (header.signal == SIGKILL && header.cpu_ns >= plan_.cpu_ns)) {
      header.reason = EndReason::kCpuLimit;
    }
    // The program died while its memory was all but used up: the allocation that failed killed it.
    if ((header.signal == SIGABRT || header.signal == SIGSEGV || header.signal == SIGBUS) &&
        header.memory_bytes_peak >= plan_.memory_bytes / 10 * 9) {
      header.reason = EndReason::kMemoryLimit;
    }
  }

  const Plan& plan_;
  const pid_t program_;
  InitPipes pipes_;
  const int child_signals_;
  const int proc_fd_;
  const int64_t start_ns_;
  int64_t end_ns_ = 0;
  int64_t tick_ns_ = kTickMinNs;
  int64_t next_tick_ns_;
  int64_t next_cpu_check_ns_;
  int64_t last_cpu_ns_ = -1;
  size_t stdin_sent_ = 0;
  bool ended_ = false;
  bool limit_hit_ = false;
  Supervised out_;
};

}  // namespace

Supervised Supervise(const Plan& plan, pid_t program, const InitPipes& pipes, int child_signals,
                     int proc_fd) {
  return Supervisor(plan, program, pipes, child_signals, proc_fd).Run();
}

}  // namespace whetstone
