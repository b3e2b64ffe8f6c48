#include "cpu_bench_worker/build/tool_chain.h"

namespace whetstone {

std::vector<ToolChain> KnownToolChains() {
  return {{.name = "g++",
           .paths = {"/usr/bin/g++"},
           .path = "",
           .version = "",
           .precompiled_suffix = ".gch",
           .diagnostics = {"-fmax-errors=8", "-fdiagnostics-color=never",
                           "-fno-diagnostics-show-caret", "-frandom-seed=0"}},
          {.name = "clang++",
           .paths = {"/usr/bin/clang++-16", "/usr/bin/clang++"},
           .path = "",
           .version = "",
           .precompiled_suffix = ".pch",
           .diagnostics = {"-ferror-limit=8", "-fno-color-diagnostics", "-fno-caret-diagnostics"}}};
}

}  // namespace whetstone
