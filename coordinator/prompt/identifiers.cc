#include "coordinator/prompt/identifiers.h"

#include "absl/strings/ascii.h"

namespace whetstone {

bool IsWordChar(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string MapIdentifiers(const std::string& code,
                           const std::function<std::string(const std::string&)>& replace) {
  std::string result;
  for (size_t at = 0; at < code.size();) {
    const size_t begin = at;
    while (at < code.size() && IsWordChar(code[at])) ++at;
    if (at == begin) {
      result += code[at++];
      continue;
    }
    const std::string word = code.substr(begin, at - begin);
    result += absl::ascii_isdigit(static_cast<unsigned char>(word[0])) ? word : replace(word);
  }
  return result;
}

}  // namespace whetstone
