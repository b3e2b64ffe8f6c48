#include "cpu_bench_worker/build/diagnostics.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cpu_bench_worker/verdict/printable.h"

namespace whetstone {
namespace {

constexpr size_t kErrorsMax = 3;
constexpr size_t kDiagnosticBytesMax = 700;

}  // namespace

std::string TrimDiagnostics(const std::string& text) {
  std::vector<std::string> kept;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StrContains(line, "error: ") && !absl::StrContains(line, "undefined reference"))
      continue;
    std::string clean(line);
    // This makes "/work/candidate.cc:3:9: error: …" into "line 3: error: …".
    if (const size_t at = clean.find("candidate.cc:"); at != std::string::npos) {
      clean = clean.substr(at + sizeof("candidate.cc:") - 1);
      const size_t line_end = clean.find(':');
      const size_t column_end = clean.find(": error", line_end == std::string::npos ? 0 : line_end);
      if (line_end != std::string::npos && column_end != std::string::npos)
        clean = absl::StrCat("line ", clean.substr(0, line_end), clean.substr(column_end));
    } else if (const size_t error = clean.find("undefined reference"); error != std::string::npos) {
      clean = clean.substr(error);
    } else if (const size_t message = clean.find("error: "); message != std::string::npos) {
      clean = clean.substr(message);
    }
    if (std::find(kept.begin(), kept.end(), clean) != kept.end()) continue;
    kept.push_back(std::move(clean));
    if (kept.size() == kErrorsMax) break;
  }
  std::string joined = absl::StrJoin(kept, "\n");
  const absl::string_view cut = CutUtf8(joined, kDiagnosticBytesMax);
  return cut.size() == joined.size() ? joined : absl::StrCat(cut, "…");
}

}  // namespace whetstone
