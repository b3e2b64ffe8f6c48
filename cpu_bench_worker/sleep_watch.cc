#include "cpu_bench_worker/sleep_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

struct SchedStat {
  uint64_t waited_ns = 0;
  uint64_t runs = 0;
};

// A fresh read at offset 0 makes the kernel format the file anew.
template <size_t N>
bool Read(int fd, char (&text)[N]) {
  const ssize_t n = pread(fd, text, N - 1, 0);
  if (n <= 0) return false;
  text[n] = '\0';
  return true;
}

// "run_ns wait_ns runs"
bool ParseSchedStat(const char* text, SchedStat* out) {
  char* end = nullptr;
  std::strtoull(text, &end, 10);
  out->waited_ns = std::strtoull(end, &end, 10);
  out->runs = std::strtoull(end, &end, 10);
  return end != text;
}

// "pid (name) S …", num_threads is field 20; the name may hold anything, so from the last ')'.
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

int OpenProc(const std::string& path) { return open(path.c_str(), O_RDONLY | O_CLOEXEC); }

}  // namespace

absl::StatusOr<SleepWatch> SleepWatch::Open(pid_t pid) {
  SleepWatch watch;
  watch.pid_ = pid;
  watch.stat_fd_ = OpenProc(absl::StrCat("/proc/", pid, "/stat"));
  watch.schedstat_fd_ = OpenProc(absl::StrCat("/proc/", pid, "/schedstat"));
  if (watch.stat_fd_ < 0 || watch.schedstat_fd_ < 0)
    return absl::NotFoundError(absl::StrCat(
        "/proc/", pid, "/{stat,schedstat}: the process has ended, or the kernel lacks schedstat"));
  return watch;
}

SleepWatch& SleepWatch::operator=(SleepWatch&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(stat_fd_, other.stat_fd_);
  std::swap(schedstat_fd_, other.schedstat_fd_);
  return *this;
}

SleepWatch::~SleepWatch() {
  if (stat_fd_ >= 0) close(stat_fd_);
  if (schedstat_fd_ >= 0) close(schedstat_fd_);
}

ProcessView SleepWatch::Look() const {
  ProcessView view;
  char text[1024];
  char state = 0;
  SchedStat sched;
  if (!Read(stat_fd_, text) || !ParseStat(text, &state, &view.threads)) return view;
  if (state == 'Z' || state == 'X') return view;
  if (view.threads != 1) return LookAtThreads();
  if (!Read(schedstat_fd_, text) || !ParseSchedStat(text, &sched)) return view;
  view.alive = true;
  view.asleep = state == 'S';
  view.runs = sched.runs;
  view.waited_ns = sched.waited_ns;
  return view;
}

ProcessView SleepWatch::LookAtThreads() const {
  ProcessView view;
  const std::string folder = absl::StrCat("/proc/", pid_, "/task");
  DIR* tasks = opendir(folder.c_str());
  if (tasks == nullptr) return view;
  view.asleep = true;
  while (const dirent* entry = readdir(tasks)) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    char text[1024];
    char state = 0;
    int threads = 0;
    SchedStat sched;
    const int stat = OpenProc(absl::StrCat(folder, "/", entry->d_name, "/stat"));
    const int schedstat = OpenProc(absl::StrCat(folder, "/", entry->d_name, "/schedstat"));
    const bool read = Read(stat, text) && ParseStat(text, &state, &threads) &&
                      Read(schedstat, text) && ParseSchedStat(text, &sched);
    if (stat >= 0) close(stat);
    if (schedstat >= 0) close(schedstat);
    if (!read) continue;  // that thread ended meanwhile; the others still count
    view.alive = true;
    view.asleep = view.asleep && state == 'S';
    ++view.threads;
    view.runs += sched.runs;
    view.waited_ns += sched.waited_ns;
  }
  closedir(tasks);
  return view;
}

OwnRuns::OwnRuns() : fd_(OpenProc("/proc/thread-self/schedstat")) {}

OwnRuns::~OwnRuns() {
  if (fd_ >= 0) close(fd_);
}

uint64_t OwnRuns::Count() const {
  char text[128];
  SchedStat sched;
  return Read(fd_, text) && ParseSchedStat(text, &sched) ? sched.runs : 0;
}

}  // namespace whetstone
