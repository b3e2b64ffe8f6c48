// Well-formed UTF-8 (RFC 3629).
#ifndef WHETSTONE_COMMON_UTF8_H_
#define WHETSTONE_COMMON_UTF8_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace whetstone {

// Bytes of the sequence that `text`, which is not empty, begins with, and its code point; 0: it
// begins with none: overlong, a surrogate, beyond U+10FFFF, cut short, or no lead byte.
size_t DecodeUtf8(absl::string_view text, uint32_t* point);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_UTF8_H_
