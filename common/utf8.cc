#include "common/utf8.h"

namespace whetstone {

Utf8Step DecodeUtf8(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const Utf8Step broken = {0xFFFD, 1, false};
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  size_t length;
  // `low` and `high` are the bounds of the second byte.
  unsigned char low = 0x80, high = 0xBF;
  char32_t code;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2, code = first & 0x1F;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3, code = first & 0x0F;
    if (first == 0xE0) low = 0xA0;   // overlong
    if (first == 0xED) high = 0x9F;  // surrogates
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4, code = first & 0x07;
    if (first == 0xF0) low = 0x90;   // overlong
    if (first == 0xF4) high = 0x8F;  // beyond U+10FFFF
  } else {
    return broken;
  }
  for (size_t i = 1; i < length; ++i) {
    if (i >= text.size()) return {0xFFFD, i, false, /*cut_short=*/true};
    if (byte(i) < low || byte(i) > high) return {0xFFFD, i, false};
    code = code << 6 | (byte(i) & 0x3F);
    low = 0x80, high = 0xBF;
  }
  return {code, length, true};
}

void AppendUtf8(char32_t code, std::string* to) {
  if (code < 0x80) {
    to->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    to->push_back(static_cast<char>(0xC0 | code >> 6));
    to->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else if (code < 0x10000) {
    to->push_back(static_cast<char>(0xE0 | code >> 12));
    to->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
    to->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    to->push_back(static_cast<char>(0xF0 | code >> 18));
    to->push_back(static_cast<char>(0x80 | (code >> 12 & 0x3F)));
    to->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
    to->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

void Utf8Stream::Take(absl::string_view bytes, std::string* text) {
  waiting_.append(bytes.data(), bytes.size());
  absl::string_view rest = waiting_;
  while (!rest.empty()) {
    const Utf8Step step = DecodeUtf8(rest);
    if (step.cut_short) break;
    if (step.valid) {
      text->append(rest.data(), step.bytes);
    } else {
      AppendUtf8(step.code, text);
    }
    rest.remove_prefix(step.bytes);
  }
  waiting_.erase(0, waiting_.size() - rest.size());
}

void Utf8Stream::Finish(std::string* text) {
  if (!waiting_.empty()) AppendUtf8(0xFFFD, text);
  waiting_.clear();
}

std::string ToValidUtf8(absl::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  Utf8Stream stream;
  stream.Take(text, &valid);
  stream.Finish(&valid);
  return valid;
}

}  // namespace whetstone
