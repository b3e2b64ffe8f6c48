#include "coordinator/authoring/difficulty.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace whetstone {
namespace {

constexpr int kEasyLinesMax = 30;
constexpr int kMediumLinesMax = 60;

// Counts lines, but not empty ones and those that hold only a comment.
int CodeLines(absl::string_view code) {
  int count = 0;
  for (absl::string_view line : absl::StrSplit(code, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    count += !line.empty() && !absl::StartsWith(line, "//");
  }
  return count;
}

}  // namespace

std::string Difficulty(const v1::Problem& problem) {
  const int lines = CodeLines(problem.expert());
  const bool intrinsics = absl::StrContains(problem.expert(), "_mm");
  if (lines > kMediumLinesMax || (intrinsics && lines > kEasyLinesMax)) return "hard";
  return lines > kEasyLinesMax || intrinsics ? "medium" : "easy";
}

}  // namespace whetstone
