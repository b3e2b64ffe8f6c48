#include "gpu_trainer/profile/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace whetstone {
namespace {

// Returns the first number of a file, or -1 if there is no such file, or no number ("max").
int64_t NumberIn(const char* path) {
  std::ifstream file(path);
  int64_t number = -1;
  return file >> number ? number : -1;
}

int64_t MemAvailable() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  int64_t kib = 0;
  std::string unit;
  while (file >> key >> kib && std::getline(file, unit)) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return std::numeric_limits<int64_t>::max();
}

}  // namespace

int64_t FreeMemoryBytes() {
  int64_t free = MemAvailable();
  // A container sees its own group, by version 2 or by version 1.
  for (const auto& [limit, used] :
       {std::pair{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        std::pair{"/sys/fs/cgroup/memory/memory.limit_in_bytes",
                  "/sys/fs/cgroup/memory/memory.usage_in_bytes"}}) {
    const int64_t most = NumberIn(limit), now = NumberIn(used);
    if (most > 0 && now >= 0) free = std::min(free, std::max<int64_t>(0, most - now));
  }
  return free;
}

int64_t PeakMemoryBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace whetstone
