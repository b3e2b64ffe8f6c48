// These functions give facts about the machine a process runs on.
#ifndef WHETSTONE_COMMON_HOST_H_
#define WHETSTONE_COMMON_HOST_H_

#include <string>

namespace whetstone {

// Returns the kernel's boot id, equal for all processes of one booted machine.
std::string HostId();
std::string Hostname();
// Returns "AMD EPYC 9575F", from /proc/cpuinfo; "unknown" where that says nothing.
std::string CpuModel();
// Returns "0x1000065", likewise; empty where it says nothing.
std::string Microcode();
// Returns "6.1.0-18-amd64", as uname -r.
std::string KernelRelease();

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_HOST_H_
