#include "coordinator/config/host_range.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace whetstone {
namespace {

constexpr size_t kHostsMax = 4096;

bool AllDigits(absl::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c); });
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandHostRange(absl::string_view text) {
  const auto wrong = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("host range '", text, "' ", what,
                                                   "; write it as cpu[01-16] or cpu[01-04,07]"));
  };
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  if (open == absl::string_view::npos && close == absl::string_view::npos) {
    return std::vector<std::string>{std::string(text)};
  }
  // "[::1]" and "user@[::1]:22" are addresses, not ranges.
  if (open != absl::string_view::npos && close != absl::string_view::npos &&
      text.substr(open, close - open).find(':') != absl::string_view::npos) {
    return std::vector<std::string>{std::string(text)};
  }
  if (open == absl::string_view::npos || close == absl::string_view::npos || close < open) {
    return wrong("has a bracket without its partner");
  }
  if (text.find('[', open + 1) != absl::string_view::npos) return wrong("has two brackets");
  const absl::string_view head = text.substr(0, open);
  const absl::string_view tail = text.substr(close + 1);
  std::vector<std::string> hosts;
  const std::string inside(text.substr(open + 1, close - open - 1));
  const std::vector<std::string> parts = absl::StrSplit(inside, ',');
  for (const std::string& part : parts) {
    const std::vector<std::string> ends = absl::StrSplit(part, '-');
    if (ends.size() > 2 || !AllDigits(ends.front()) || !AllDigits(ends.back())) {
      return wrong(absl::StrCat("has '", part, "' where a number or FIRST-LAST belongs"));
    }
    int64_t first = 0;
    int64_t last = 0;
    if (!absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last)) {
      return wrong("has a number that is too long");
    }
    if (last < first) return wrong(absl::StrCat("counts backwards in '", part, "'"));
    if (last - first >= static_cast<int64_t>(kHostsMax) ||
        hosts.size() + (last - first + 1) > kHostsMax) {
      return wrong(absl::StrCat("stands for more than ", kHostsMax, " hosts"));
    }
    for (int64_t i = first; i <= last; ++i) {
      hosts.push_back(absl::StrCat(
          head, absl::StrFormat("%0*d", static_cast<int>(ends.front().size()), i), tail));
    }
  }
  return hosts;
}

}  // namespace whetstone
