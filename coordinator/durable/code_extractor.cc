#include "coordinator/durable/code_extractor.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

// Returns the length of the fence a line opens or closes; 0 if it is no fence. `rest` is what
// follows.
size_t FenceLength(absl::string_view line, absl::string_view* rest) {
  size_t blanks = 0;
  while (blanks < line.size() && blanks < 4 && line[blanks] == ' ') ++blanks;
  if (blanks == 4) return 0;
  line.remove_prefix(blanks);
  const size_t ticks = std::min(line.find_first_not_of('`'), line.size());
  if (ticks < 3) return 0;
  *rest = absl::StripAsciiWhitespace(line.substr(ticks));
  return ticks;
}

bool IsCpp(absl::string_view info) {
  const std::string language =
      absl::AsciiStrToLower(info.substr(0, std::min(info.find_first_of(" \t{"), info.size())));
  constexpr std::array<absl::string_view, 6> kLanguages = {"", "cpp", "c++", "cc", "cxx", "c"};
  return std::find(kLanguages.begin(), kLanguages.end(), language) != kLanguages.end();
}

}  // namespace

std::optional<std::string> ExtractCode(absl::string_view completion,
                                       absl::string_view response_prefix) {
  const std::string text = absl::StrCat(response_prefix, completion);
  std::optional<std::string> found;
  std::string block;
  size_t open_ticks = 0;  // 0: outside a block
  bool counts = false;
  const auto blank = [](absl::string_view s) { return absl::StripAsciiWhitespace(s).empty(); };

  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    absl::string_view line(text.data() + at, end - at);
    at = end + 1;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    absl::string_view rest;
    const size_t ticks = FenceLength(line, &rest);
    if (open_ticks == 0) {
      // An info string holds no backticks: "```x```" is inline code.
      if (ticks > 0 && rest.find('`') == absl::string_view::npos) {
        open_ticks = ticks;
        counts = IsCpp(rest);
        block.clear();
      }
    } else if (ticks >= open_ticks && rest.empty()) {
      if (counts && !blank(block)) found = block;
      open_ticks = 0;
    } else {
      absl::StrAppend(&block, line, "\n");
    }
  }
  if (!found && open_ticks > 0 && counts && !blank(block)) found = block;
  return found;
}

}  // namespace whetstone
