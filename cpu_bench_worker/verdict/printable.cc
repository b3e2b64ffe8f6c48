#include "cpu_bench_worker/verdict/printable.h"

#include <cstdint>

#include "common/utf8.h"

namespace whetstone {
namespace {

bool Visible(uint32_t point) {
  const auto within = [point](uint32_t low, uint32_t high) {
    return point >= low && point <= high;
  };
  if (point == '\n') return true;
  return !(point < 0x20 || within(0x7F, 0x9F) ||                // control characters
           point == 0xAD || within(0x200B, 0x200F) ||           // invisible, direction marks
           within(0x2028, 0x202E) || within(0x2060, 0x206F) ||  // separators, overrides, isolates
           point == 0xFEFF || within(0xFFF9, 0xFFFB) || within(0xE0000, 0xE0FFF));
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    if (step.valid && step.code == '\t') {
      clean += ' ';
    } else if (step.valid && Visible(step.code)) {
      clean.append(text.data(), step.bytes);
    } else {
      clean += '?';
    }
    text.remove_prefix(step.valid ? step.bytes : 1);
  }
  return clean;
}

absl::string_view CutUtf8(absl::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  size_t size = bytes_max;
  while (size > 0 && (static_cast<uint8_t>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace whetstone
