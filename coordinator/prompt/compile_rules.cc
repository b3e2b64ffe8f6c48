#include "coordinator/prompt/compile_rules.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/problem/compile_flags.h"

namespace whetstone {
namespace {

absl::Status CheckThreads(const FrontMatter& front, const v1::CompileRules& rules) {
  const int threads = rules.threads();
  const bool allowed =
      std::find(rules.allow().begin(), rules.allow().end(), "threads") != rules.allow().end();
  if (threads == 1 || allowed) return absl::OkStatus();
  return front.Error("compile.threads",
                     absl::StrCat(threads, " threads, but 'threads' is not in compile.allow"));
}

}  // namespace

absl::Status ReadCompileRules(const FrontMatter& front, v1::Problem* problem) {
  const v1::CompileRules& rules = *problem->mutable_compile() = front.keys().compile();
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
  return CheckThreads(front, rules);
}

}  // namespace whetstone
