#include "gpu_trainer/tokenizer/added_tokens.h"

#include <utf8proc.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace whetstone {
namespace {

using nlohmann::json;

// Tells whether `c` is in Unicode's White_Space.
bool IsSpace(char32_t c) {
  return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

// Tells whether `c` is a letter, mark, decimal digit, connector, joiner or enclosed letter: \w of
// Unicode's regular expressions (UTS 18, annex C), which is what the reference asks.
bool IsWord(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) ||
             (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
             (c >= 0x1F170 && c <= 0x1F189);
  }
}

// Returns where the last character of valid UTF-8 starts.
size_t LastCharacter(absl::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && (text[at] & 0xC0) == 0x80) --at;
  return at;
}

bool EndsWithWord(absl::string_view text) {
  return !text.empty() && IsWord(DecodeUtf8(text.substr(LastCharacter(text))).code);
}

bool StartsWithWord(absl::string_view text) {
  return !text.empty() && IsWord(DecodeUtf8(text).code);
}

// Returns where the white space at the end of `text` starts.
size_t SpaceAtEnd(absl::string_view text) {
  while (!text.empty()) {
    const size_t at = LastCharacter(text);
    if (!IsSpace(DecodeUtf8(text.substr(at)).code)) break;
    text = text.substr(0, at);
  }
  return text.size();
}

// Returns the bytes of the white space at the start of `text`.
size_t SpaceAtStart(absl::string_view text) {
  size_t bytes = 0;
  while (bytes < text.size()) {
    const Utf8Step step = DecodeUtf8(text.substr(bytes));
    if (!IsSpace(step.code)) break;
    bytes += step.bytes;
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::vector<AddedToken>> ParseAddedTokens(const json& list) {
  std::vector<AddedToken> tokens;
  for (const json& entry : list) {
    tokens.push_back({.content = entry.at("content").get<std::string>(),
                      .id = entry.at("id").get<int32_t>(),
                      .special = entry.value("special", false),
                      .normalized = entry.value("normalized", true),
                      .single_word = entry.value("single_word", false),
                      .lstrip = entry.value("lstrip", false),
                      .rstrip = entry.value("rstrip", false)});
    if (tokens.back().content.empty() || tokens.back().id < 0) {
      return absl::InvalidArgumentError(absl::StrCat("bad added token ", entry.dump()));
    }
  }
  return tokens;
}

void AddedTokenMatcher::Add(const std::string& text, const AddedToken& token) {
  std::vector<Pattern>& patterns = by_first_byte_[static_cast<unsigned char>(text[0])];
  const auto shorter = std::find_if(patterns.begin(), patterns.end(), [&](const Pattern& other) {
    return other.text.size() < text.size();
  });
  patterns.insert(shorter, {text, token});
}

void AddedTokenMatcher::Cut(std::vector<Segment>* segments) const {
  if (by_first_byte_.empty()) return;
  std::vector<Segment> cut;
  for (Segment& segment : *segments) {
    if (segment.id >= 0) {
      cut.push_back(std::move(segment));
    } else {
      CutText(segment.text, &cut);
    }
  }
  *segments = std::move(cut);
}

void AddedTokenMatcher::CutText(const std::string& text, std::vector<Segment>* out) const {
  const absl::string_view all = text;
  size_t done = 0;  // Everything before is in `out`.
  for (size_t i = 0; i < all.size();) {
    const Pattern* pattern = MatchAt(all.substr(i));
    if (pattern == nullptr) {
      ++i;
      continue;
    }
    const AddedToken& token = pattern->token;
    size_t start = i, stop = i + pattern->text.size();
    i = stop;
    if (token.single_word &&
        (EndsWithWord(all.substr(0, start)) || StartsWithWord(all.substr(stop)))) {
      continue;
    }
    if (token.lstrip) start = std::max(SpaceAtEnd(all.substr(0, start)), done);
    if (token.rstrip) stop += SpaceAtStart(all.substr(stop));
    if (start > done) out->push_back({text.substr(done, start - done), -1});
    out->push_back({"", token.id});
    done = stop;
  }
  if (done < text.size()) out->push_back({text.substr(done), -1});
}

const AddedTokenMatcher::Pattern* AddedTokenMatcher::MatchAt(absl::string_view rest) const {
  const auto it = by_first_byte_.find(static_cast<unsigned char>(rest[0]));
  if (it == by_first_byte_.end()) return nullptr;
  for (const Pattern& pattern : it->second) {
    if (absl::StartsWith(rest, pattern.text)) return &pattern;
  }
  return nullptr;
}

}  // namespace whetstone
