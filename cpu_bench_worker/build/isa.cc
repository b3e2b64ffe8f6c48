#include "cpu_bench_worker/build/isa.h"

#include <fstream>
#include <set>
#include <sstream>

namespace whetstone {

std::vector<std::string> IsaExtensions() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) flags.insert(word);
    break;
  }
  std::vector<std::string> found;
  for (const char* name :
       {"sse4_2", "avx", "avx2", "fma", "bmi2", "avx512f", "avx512bw", "avx512vl", "avx512_vnni",
        "avx512_bf16", "amx_tile", "amx_bf16", "amx_int8", "asimd", "sve", "sve2"})
    if (flags.count(name) > 0) found.emplace_back(name);
  return found;
}

}  // namespace whetstone
