#include "common/second_turn.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace whetstone {

std::string AnswerText(absl::string_view source) {
  return absl::StrCat("```cpp\n", absl::StripTrailingAsciiWhitespace(source), "\n```");
}

std::string MendText(absl::string_view failure) {
  return absl::StrCat("That does not work: ", failure, "\nCorrect it. Write the whole function.");
}

}  // namespace whetstone
