// These functions read UTF-8 (RFC 3629), whole or broken.
#ifndef WHETSTONE_COMMON_UTF8_H_
#define WHETSTONE_COMMON_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace whetstone {

// A Utf8Step is one step through possibly broken UTF-8.
struct Utf8Step {
  char32_t code = 0;  // U+FFFD when broken
  size_t bytes = 0;   // consumed, >= 1
  bool valid = false;
  bool cut_short = false;  // not valid, but more bytes could make it so
};

// Decodes at the start of `text` (not empty). A broken sequence consumes its longest valid
// beginning, at least one byte, as the Unicode standard (3.9, table 3-8) recommends.
Utf8Step DecodeUtf8(absl::string_view text);

void AppendUtf8(char32_t code, std::string* to);

// A Utf8Stream makes valid UTF-8 of bytes that arrive in parts, as those of tokens do. The text
// does not depend on where the bytes were cut. It is not thread-safe.
class Utf8Stream {
 public:
  // Appends the text that is certain by now. The beginning of a character waits for its rest.
  void Take(absl::string_view bytes, std::string* text);
  // Finish is called after the last bytes: the beginning of a character becomes U+FFFD.
  void Finish(std::string* text);

 private:
  std::string waiting_;  // fewer than 4 bytes
};

// Every broken sequence becomes U+FFFD.
std::string ToValidUtf8(absl::string_view text);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_UTF8_H_
