// Facts about the machine a process runs on.
#ifndef WHETSTONE_COMMON_HOST_H_
#define WHETSTONE_COMMON_HOST_H_

#include <string>

namespace whetstone {

// Equal for all processes of one booted machine (the kernel's boot id).
std::string HostId();
std::string Hostname();
// "AMD EPYC 9575F", from /proc/cpuinfo; "unknown" where that says nothing.
std::string CpuModel();
// "0x1000065", likewise; empty where it says nothing.
std::string Microcode();
// "6.1.0-18-amd64", as uname -r.
std::string KernelRelease();

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_HOST_H_
