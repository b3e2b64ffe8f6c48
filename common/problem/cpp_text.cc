#include "common/problem/cpp_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace whetstone {

std::string MaskedCpp(absl::string_view code) {
  std::string text(code);
  const auto blank = [&](size_t from, size_t to) {
    for (size_t i = from; i < std::min(to, text.size()); ++i) {
      if (text[i] != '\n') text[i] = ' ';
    }
  };
  bool line_begins = true;
  for (size_t at = 0; at < code.size();) {
    const char c = code[at];
    size_t end = at + 1;
    if (code.substr(at, 2) == "//" || (c == '#' && line_begins)) {
      do {
        end = std::min(code.find('\n', end), code.size());
      } while (end < code.size() && code[end - 1] == '\\' && ++end < code.size());
      blank(at, end);
    } else if (code.substr(at, 2) == "/*") {
      end = code.find("*/", at + 2);
      end = end == absl::string_view::npos ? code.size() : end + 2;
      blank(at, end);
    } else if (c == '"' || (c == '\'' && (at == 0 || !absl::ascii_isalnum(code[at - 1])))) {
      while (end < code.size() && code[end] != c && code[end] != '\n') {
        end += code[end] == '\\' ? 2 : 1;
      }
      blank(at + 1, end);
      ++end;
    }
    line_begins = c == '\n' || (line_begins && absl::ascii_isspace(static_cast<unsigned char>(c)));
    at = end;
  }
  return text;
}

int LineAt(absl::string_view code, size_t at) {
  return 1 + static_cast<int>(std::count(code.begin(), code.begin() + static_cast<long>(at), '\n'));
}

}  // namespace whetstone
