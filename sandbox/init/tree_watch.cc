#include "sandbox/init/tree_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/unique_fd.h"

namespace whetstone {
namespace {

// Adds what /proc/PID/stat says after the command name, which may itself hold any byte, `)` too.
void AddProcess(int proc_fd, const char* pid, TreeUse* use) {
  char path[64];
  std::snprintf(path, sizeof(path), "%s/stat", pid);
  const UniqueFd fd(openat(proc_fd, path, O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return;  // The process ended meanwhile.
  char text[1024];
  const ssize_t size = read(fd.get(), text, sizeof(text) - 1);
  if (size <= 0) return;
  text[size] = '\0';
  const char* after_name = std::strrchr(text, ')');
  if (after_name == nullptr) return;
  unsigned long user = 0;
  unsigned long system = 0;
  long children_user = 0;
  long children_system = 0;
  long resident_pages = 0;
  // The fields are: state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime
  // stime cutime cstime priority nice num_threads itrealvalue starttime vsize rss
  std::sscanf(after_name + 1,
              " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld %*d %*d %*d %*d %*u "
              "%*u %ld",
              &user, &system, &children_user, &children_system, &resident_pages);
  static const int64_t tick_ns = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  static const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  use->memory_bytes += resident_pages * page_bytes;
  use->cpu_ns += static_cast<int64_t>(user + system + static_cast<unsigned long>(children_user) +
                                      static_cast<unsigned long>(children_system)) *
                 tick_ns;
}

}  // namespace

TreeUse ReadTreeUse(int proc_fd) {
  TreeUse use;
  const int fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return use;
  DIR* directory = fdopendir(fd);
  if (directory == nullptr) {
    close(fd);
    return use;
  }
  while (const dirent* entry = readdir(directory)) {
    const char first = entry->d_name[0];
    if (first < '1' || first > '9' || std::strcmp(entry->d_name, "1") == 0) continue;
    AddProcess(proc_fd, entry->d_name, &use);
  }
  closedir(directory);
  return use;
}

}  // namespace whetstone
