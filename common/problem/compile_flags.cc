#include "common/problem/compile_flags.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

std::string LanguageFlag(const v1::CompileRules& rules) {
  return absl::StrCat("-std=", rules.std().empty() ? "c++20" : rules.std());
}

}  // namespace

bool IsTuningFlag(absl::string_view flag) {
  static constexpr const char* kRefused[] = {"-fplugin",  "-fsanitize", "-flto", "-fPIC",
                                             "-fpic",     "-fPIE",      "-fpie", "-fdump",
                                             "-fprofile", "-Wl,",       "-Wp,",  "-Wa,"};
  for (const char* prefix : kRefused) {
    if (absl::StartsWith(flag, prefix)) return false;
  }
  if (flag.find_first_of(" \t/") != absl::string_view::npos || flag.size() < 3) return false;
  return absl::StartsWith(flag, "-O") || absl::StartsWith(flag, "-m") ||
         absl::StartsWith(flag, "-f") || absl::StartsWith(flag, "-D") ||
         absl::StartsWith(flag, "-W");
}

bool IsHeaderName(absl::string_view header) {
  if (header.empty() || header.size() > 64 || header[0] == '/') return false;
  if (absl::StrContains(header, "..")) return false;
  return std::all_of(header.begin(), header.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("_+-./", std::string(1, c));
  });
}

std::vector<std::string> CompileFlags(const v1::CompileRules& rules) {
  std::vector<std::string> flags = {LanguageFlag(rules)};
  flags.insert(flags.end(), rules.flags().begin(), rules.flags().end());
  // Equal functions lie alike whatever stands before them: beside a busy neighbour on the same core
  // their place alone is worth up to a sixth of their speed.
  flags.insert(flags.end(), {"-fPIC", "-fvisibility=hidden", "-falign-functions=64", "-w"});
  return flags;
}

std::vector<std::string> ParserFlags(const v1::CompileRules& rules) {
  std::vector<std::string> flags = {LanguageFlag(rules)};
  for (const std::string& flag : rules.flags()) {
    const bool read = absl::StartsWith(flag, "-m") || absl::StartsWith(flag, "-D") ||
                      absl::StartsWith(flag, "-U") || flag == "-fopenmp" || flag == "-ffast-math";
    if (read && !absl::StartsWith(flag, "-mprefer") && !absl::StartsWith(flag, "-mtune")) {
      flags.push_back(flag);
    }
  }
  return flags;
}

std::string CompilerName(const v1::CompileRules& rules) {
  return rules.compiler().empty() ? "g++" : rules.compiler();
}

std::vector<std::string> CompilerPrograms(const std::string& name) {
  if (name == "g++") return {"g++"};
  if (name == "clang++") return {"clang++-16", "clang++"};
  return {};
}

}  // namespace whetstone
