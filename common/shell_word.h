// A word of a command line that a shell reads.
#ifndef WHETSTONE_COMMON_SHELL_WORD_H_
#define WHETSTONE_COMMON_SHELL_WORD_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace whetstone {

// Returns `text` in single quotes, which sh takes for one word, whatever is in it.
inline std::string ShellWord(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_SHELL_WORD_H_
