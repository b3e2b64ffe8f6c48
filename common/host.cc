#include "common/host.h"

#include <unistd.h>

#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/file.h"

namespace whetstone {

std::string HostId() {
  const auto id = ReadFile("/proc/sys/kernel/random/boot_id");
  return id.ok() ? std::string(absl::StripAsciiWhitespace(*id)) : Hostname();
}

std::string Hostname() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::string CpuModel() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (absl::StartsWith(line, "model name")) {
      const size_t colon = line.find(':');
      if (colon != std::string::npos) {
        return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
      }
    }
  }
  return "unknown";
}

}  // namespace whetstone
