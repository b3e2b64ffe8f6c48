#include "coordinator/terminal/text_table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace whetstone {
namespace {

size_t PlacesOf(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string TextTable(std::vector<std::vector<std::string>> rows) {
  std::vector<size_t> widths;
  for (std::vector<std::string>& row : rows) {
    widths.resize(row.size());
    for (size_t c = 0; c < row.size(); ++c) {
      std::ranges::replace_if(
          row[c], [](unsigned char each) { return absl::ascii_iscntrl(each); }, '?');
      widths[c] = std::max(widths[c], PlacesOf(row[c]));
    }
  }
  std::vector<std::string> lines;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      absl::StrAppend(&line, row[c], std::string(widths[c] - PlacesOf(row[c]) + 2, ' '));
    }
    absl::StripTrailingAsciiWhitespace(&line);
    lines.push_back(std::move(line));
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace whetstone
