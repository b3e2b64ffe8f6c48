#include "cpu_bench_worker/tool_chain.h"

namespace whetstone {

std::vector<ToolChain> KnownToolChains() {
  return {{.name = "g++",
           .paths = {"/usr/bin/g++"},
           .path = "",
           .version = "",
           .header_file = "allowed.h.gch",
           .use_header = {"-include", "/headers/allowed.h"},
           .diagnostics = {"-fmax-errors=8", "-fdiagnostics-color=never",
                           "-fno-diagnostics-show-caret", "-frandom-seed=0"}},
          {.name = "clang++",
           .paths = {"/usr/bin/clang++-16", "/usr/bin/clang++"},
           .path = "",
           .version = "",
           .header_file = "allowed.h.pch",
           .use_header = {"-include-pch", "/headers/allowed.h.pch"},
           .diagnostics = {"-ferror-limit=8", "-fno-color-diagnostics", "-fno-caret-diagnostics"}}};
}

}  // namespace whetstone
