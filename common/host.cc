#include "common/host.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/file.h"

namespace whetstone {
namespace {

// Returns the first value of a key of /proc/cpuinfo.
std::optional<std::string> CpuInfo(absl::string_view key) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!absl::StartsWith(line, key)) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos) {
      return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
    }
  }
  return std::nullopt;
}

}  // namespace

std::string HostId() {
  const auto id = ReadFile("/proc/sys/kernel/random/boot_id");
  return id.ok() ? std::string(absl::StripAsciiWhitespace(*id)) : Hostname();
}

std::string Hostname() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::string CpuModel() { return CpuInfo("model name").value_or("unknown"); }

std::string Microcode() { return CpuInfo("microcode").value_or(""); }

std::string KernelRelease() {
  utsname name{};
  return uname(&name) == 0 ? name.release : "unknown";
}

}  // namespace whetstone
