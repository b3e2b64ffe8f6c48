#include "common/utf8.h"

namespace whetstone {

size_t DecodeUtf8(absl::string_view text, uint32_t* point) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  size_t size = 1;
  if (first >= 0xF0 && first <= 0xF4) {
    size = 4;
  } else if (first >= 0xE0 && first < 0xF0) {
    size = 3;
  } else if (first >= 0xC2 && first < 0xE0) {
    size = 2;
  } else if (first >= 0x80) {
    return 0;
  }
  if (size > text.size()) return 0;
  uint32_t value = size == 1 ? first : first & (0xFFu >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    value = value << 6 | (byte(i) & 0x3F);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  if (overlong || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return 0;
  *point = value;
  return size;
}

}  // namespace whetstone
