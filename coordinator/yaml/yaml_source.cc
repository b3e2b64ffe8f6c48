#include "coordinator/yaml/yaml_source.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "coordinator/yaml/call_commas.h"

namespace whetstone {
namespace {

// Returns a line of the text, counted from 0, without its end; "" behind the last.
absl::string_view NthLine(absl::string_view text, int line) {
  for (int i = 0; i < line; ++i) {
    const size_t end = text.find('\n');
    if (end == absl::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  return absl::StripSuffix(text.substr(0, text.find('\n')), "\r");
}

}  // namespace

SourcePlace YamlSource::At(int line, int column) const {
  SourcePlace place;
  place.name = name_;
  if (first_line_ == 0) return place;
  place.number = first_line_ + std::max(line, 0);
  absl::StrAppend(&place.name, ":", place.number);
  if (line < 0) return place;
  const std::string read(NthLine(text_, line));
  const std::string before = read.substr(0, static_cast<size_t>(std::max(column, 0)));
  place.line = calls_ ? ShowCallCommas(read) : read;
  place.column = calls_ ? ShowCallCommas(before).size() : before.size();
  return place;
}

}  // namespace whetstone
