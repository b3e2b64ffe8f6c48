// The compilers of this host that problems may ask for.
#ifndef WHETSTONE_CPU_BENCH_WORKER_BUILD_TOOL_CHAIN_H_
#define WHETSTONE_CPU_BENCH_WORKER_BUILD_TOOL_CHAIN_H_

#include <string>
#include <vector>

namespace whetstone {

// One compiler and what is spelled differently for it. `version` is empty until it has been asked.
struct ToolChain {
  std::string name;                // as compile.compiler says it
  std::vector<std::string> paths;  // where it may be; the first one that is there is used
  std::string path;
  std::string version;  // "g++ (Debian 12.2.0-14) 12.2.0"
  // A precompiled header's suffix: `-include x.h` uses x.h and this, where it lies beside x.h.
  std::string precompiled_suffix;
  std::vector<std::string> diagnostics;  // few of them, one line each, the same every time
};

// g++, which every host has, and clang++, which it may lack.
std::vector<ToolChain> KnownToolChains();

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_BUILD_TOOL_CHAIN_H_
