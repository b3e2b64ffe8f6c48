#include "cpu_bench_worker/build/tool_chain.h"

#include "absl/strings/str_cat.h"
#include "common/problem/compile_flags.h"

namespace whetstone {
namespace {

std::vector<std::string> InstalledPaths(const std::string& compiler) {
  std::vector<std::string> paths = CompilerPrograms(compiler);
  for (std::string& path : paths) path = absl::StrCat("/usr/bin/", path);
  return paths;
}

}  // namespace

std::vector<ToolChain> KnownToolChains() {
  return {{.name = "g++",
           .paths = InstalledPaths("g++"),
           .path = "",
           .version = "",
           .precompiled_suffix = ".gch",
           .diagnostics = {"-fmax-errors=8", "-fdiagnostics-color=never",
                           "-fno-diagnostics-show-caret", "-frandom-seed=0"}},
          {.name = "clang++",
           .paths = InstalledPaths("clang++"),
           .path = "",
           .version = "",
           .precompiled_suffix = ".pch",
           .diagnostics = {"-ferror-limit=8", "-fno-color-diagnostics", "-fno-caret-diagnostics"}}};
}

}  // namespace whetstone
