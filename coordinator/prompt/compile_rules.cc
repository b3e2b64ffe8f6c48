#include "coordinator/prompt/compile_rules.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

constexpr int kThreadsMax = 64;

// Returns whether `flag` tunes the code and does not read files, load plugins or change what is
// written.
bool IsTuningFlag(absl::string_view flag) {
  static constexpr const char* kRefused[] = {
      "-fplugin", "-fsanitize", "-flto", "-fPIC", "-fpic", "-fPIE", "-fpie", "-fdump", "-fprofile"};
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

absl::Status CheckThreads(const FrontMatter& front, const v1::CompileRules& rules) {
  const int threads = rules.threads();
  if (threads < 1 || threads > kThreadsMax) {
    return front.Error("compile.threads",
                       absl::StrCat("threads must be 1 to ", kThreadsMax, ", not ", threads));
  }
  const bool allowed =
      std::find(rules.allow().begin(), rules.allow().end(), "threads") != rules.allow().end();
  if (threads == 1 || allowed) return absl::OkStatus();
  return front.Error("compile.threads",
                     absl::StrCat(threads, " threads, but 'threads' is not in compile.allow"));
}

}  // namespace

absl::Status ReadCompileRules(const FrontMatter& front, v1::Problem* problem) {
  const v1::CompileRules& rules = *problem->mutable_compile() = front.keys().compile();
  if (front.Given("compile.compiler")) {
    RETURN_IF_ERROR(front.RequireOneOf("compile.compiler", rules.compiler(), {"g++", "clang++"}));
  }
  RETURN_IF_ERROR(front.RequireOneOf("compile.std", rules.std(), {"c++17", "c++20", "c++23"}));
  for (const std::string& flag : rules.flags()) {
    if (IsTuningFlag(flag)) continue;
    return front.Error(
        "compile.flags",
        absl::StrCat("flag '", flag, "' is not allowed: only -O…, -m…, -f…, -D… and ",
                     "-W… that tune the code are"));
  }
  for (const std::string& header : rules.headers()) {
    if (IsHeaderName(header)) continue;
    return front.Error("compile.headers",
                       absl::StrCat("'", header, "' is not a header's name: write immintrin.h, ",
                                    "not <immintrin.h>"));
  }
  for (int i = 0; i < rules.allow_size(); ++i) {
    RETURN_IF_ERROR(front.RequireOneOf(absl::StrCat("compile.allow[", i, "]"), rules.allow(i),
                                       {"target", "pragma", "static", "asm", "threads"}));
  }
  return CheckThreads(front, rules);
}

}  // namespace whetstone
