#include "cpu_bench_worker/kernel/scheduler_state_monitor.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

struct SchedStat {
  uint64_t ran_ns = 0;
  uint64_t waited_ns = 0;
  uint64_t runs = 0;
};

// A fresh read at offset 0 makes the kernel format the file anew.
template <size_t N>
bool Read(const UniqueFd& fd, char (&text)[N]) {
  const ssize_t n = pread(fd.get(), text, N - 1, 0);
  if (n <= 0) return false;
  text[n] = '\0';
  return true;
}

// The text is "run_ns wait_ns runs".
bool ParseSchedStat(const char* text, SchedStat* out) {
  char* end = nullptr;
  out->ran_ns = std::strtoull(text, &end, 10);
  out->waited_ns = std::strtoull(end, &end, 10);
  out->runs = std::strtoull(end, &end, 10);
  return end != text;
}

// The text is "pid (name) S …", and num_threads is field 20. The name may hold anything, so fields
// count from the last ')'.
bool ParseStat(const char* text, char* state, int* threads) {
  const char* p = std::strrchr(text, ')');
  if (p == nullptr || p[1] == '\0') return false;
  *state = p[2];
  p += 2;
  for (int field = 3; field < 20; ++field) {
    p = std::strchr(p, ' ');
    if (p == nullptr) return false;
    ++p;
  }
  *threads = std::atoi(p);
  return true;
}

// Reads the line "voluntary_ctxt_switches: n" of /proc/PID/status; returns 0 where there is none.
uint64_t ParseSleeps(const char* text) {
  constexpr char kKey[] = "\nvoluntary_ctxt_switches:";
  const char* at = std::strstr(text, kKey);
  return at == nullptr ? 0 : std::strtoull(at + sizeof(kKey) - 1, nullptr, 10);
}

UniqueFd OpenProc(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

absl::StatusOr<SchedulerStateMonitor> SchedulerStateMonitor::Open(pid_t pid) {
  SchedulerStateMonitor monitor;
  monitor.pid_ = pid;
  monitor.stat_fd_ = OpenProc(absl::StrCat("/proc/", pid, "/stat"));
  monitor.schedstat_fd_ = OpenProc(absl::StrCat("/proc/", pid, "/schedstat"));
  monitor.status_fd_ = OpenProc(absl::StrCat("/proc/", pid, "/status"));
  if (monitor.stat_fd_.get() < 0 || monitor.schedstat_fd_.get() < 0 || monitor.status_fd_.get() < 0)
    return absl::NotFoundError(absl::StrCat(
        "/proc/", pid,
        "/{stat,schedstat,status}: the process has ended, or the kernel lacks schedstat"));
  if (clock_getcpuclockid(pid, &monitor.clock_) != 0)
    return absl::NotFoundError(absl::StrCat("process ", pid, " has ended"));
  return monitor;
}

uint64_t SchedulerStateMonitor::RanNs() const {
  timespec ran{};
  clock_gettime(clock_, &ran);
  return static_cast<uint64_t>(ran.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(ran.tv_nsec);
}

ProcessSnapshot SchedulerStateMonitor::Snapshot(bool full) const {
  ProcessSnapshot view;
  char text[4096];
  char state = 0;
  int threads = 0;
  SchedStat sched;
  if (!Read(schedstat_fd_, text) || !ParseSchedStat(text, &sched)) return view;
  if (!Read(stat_fd_, text) || !ParseStat(text, &state, &threads)) return view;
  if (state == 'Z' || state == 'X') return view;
  if (threads != 1) return SnapshotThreads(full);
  uint64_t slept = 0;
  if (full && Read(status_fd_, text)) slept = ParseSleeps(text);
  view.alive = true;
  view.asleep = state == 'S';
  view.threads = {{static_cast<uint64_t>(pid_), sched.runs, slept, sched.ran_ns}};
  if (full) view.ran_ns = RanNs();
  view.waited_ns = sched.waited_ns;
  return view;
}

ProcessSnapshot SchedulerStateMonitor::SnapshotThreads(bool full) const {
  ProcessSnapshot view;
  const std::string folder = absl::StrCat("/proc/", pid_, "/task");
  DIR* tasks = opendir(folder.c_str());
  if (tasks == nullptr) return view;
  view.asleep = true;
  while (const dirent* entry = readdir(tasks)) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    char text[4096];
    char state = 0;
    int threads = 0;
    uint64_t slept = 0;
    SchedStat sched;
    const auto read = [&](const char* file) {
      return Read(OpenProc(absl::StrCat(folder, "/", entry->d_name, "/", file)), text);
    };
    // A thread that ended meanwhile is left out; the others still count.
    if (!read("schedstat") || !ParseSchedStat(text, &sched)) continue;
    if (!read("stat") || !ParseStat(text, &state, &threads)) continue;
    if (full && read("status")) slept = ParseSleeps(text);
    view.alive = true;
    view.asleep = view.asleep && state == 'S';
    view.threads.push_back(
        {std::strtoull(entry->d_name, nullptr, 10), sched.runs, slept, sched.ran_ns});
    view.waited_ns += sched.waited_ns;
  }
  closedir(tasks);
  if (full) view.ran_ns = RanNs();
  std::sort(view.threads.begin(), view.threads.end(),
            [](const ThreadSnapshot& a, const ThreadSnapshot& b) { return a.tid < b.tid; });
  return view;
}

bool ProcessSnapshot::SameRuns(const ProcessSnapshot& other) const {
  return std::equal(threads.begin(), threads.end(), other.threads.begin(), other.threads.end(),
                    [](const ThreadSnapshot& a, const ThreadSnapshot& b) {
                      return a.tid == b.tid && a.runs == b.runs;
                    });
}

ThreadSnapshot ProcessSnapshot::Of(uint64_t tid) const {
  for (const ThreadSnapshot& thread : threads)
    if (thread.tid == tid) return thread;
  return {};
}

bool ProcessSnapshot::SettledSince(const ProcessSnapshot& before) const {
  return std::all_of(threads.begin(), threads.end(), [&](const ThreadSnapshot& now) {
    const ThreadSnapshot then = before.Of(now.tid);
    return now.slept > then.slept || (now.tid == then.tid && now.runs == then.runs);
  });
}

uint64_t ProcessSnapshot::LongestRunSince(const ProcessSnapshot& before) const {
  uint64_t longest = 0;
  for (const ThreadSnapshot& now : threads)
    longest = std::max(longest, now.ran_ns - before.Of(now.tid).ran_ns);
  return longest;
}

uint64_t ProcessSnapshot::SleepsSince(const ProcessSnapshot& before) const {
  uint64_t sleeps = 0;
  for (const ThreadSnapshot& now : threads) sleeps += now.slept - before.Of(now.tid).slept;
  return sleeps;
}

OwnRuns::OwnRuns() : fd_(OpenProc("/proc/thread-self/schedstat")) {}

uint64_t OwnRuns::Count() const {
  char text[128];
  SchedStat sched;
  return Read(fd_, text) && ParseSchedStat(text, &sched) ? sched.runs : 0;
}

}  // namespace whetstone
