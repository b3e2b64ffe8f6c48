#include "common/source_place.h"

#include <algorithm>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/utf8.h"

namespace whetstone {
namespace {

constexpr char kExcerptUrl[] = "whetstone/source_excerpt";
constexpr size_t kCharactersMax = 100;  // of a line

// Says whether a character shows itself and does nothing else: no control character, none that
// turns the direction of what follows.
bool ShowsItself(char32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool direction = (code >= 0x200E && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
                         (code >= 0x2066 && code <= 0x2069);
  return !control && !direction;
}

std::string ShownCharacter(char32_t code) {
  std::string shown;
  AppendUtf8(code == U'\t' ? U' ' : ShowsItself(code) ? code : U'\uFFFD', &shown);
  return shown;
}

std::string Excerpt(const SourcePlace& place) {
  std::vector<std::string> characters;
  size_t caret = 0;
  for (size_t at = 0; at < place.line.size();) {
    if (at <= place.column) caret = characters.size();
    const Utf8Step step = DecodeUtf8(absl::string_view(place.line).substr(at));
    characters.push_back(ShownCharacter(step.code));
    at += step.bytes;
  }
  if (place.column >= place.line.size()) caret = characters.size();
  const bool whole = characters.size() <= kCharactersMax;
  const size_t begin = whole ? 0 : caret - std::min(caret, kCharactersMax / 2);
  const size_t end = std::min(characters.size(), begin + kCharactersMax);
  const std::string text =
      absl::StrCat(begin > 0 ? "…" : "",
                   absl::StrJoin(characters.begin() + static_cast<std::ptrdiff_t>(begin),
                                 characters.begin() + static_cast<std::ptrdiff_t>(end), ""),
                   end < characters.size() ? "…" : "");
  const size_t indent = caret - begin + (begin > 0 ? 1 : 0);
  return absl::StrCat(absl::Dec(place.number, absl::kSpacePad5), " | ", text, "\n      | ",
                      std::string(indent, ' '), "^");
}

}  // namespace

absl::Status ErrorAt(const SourcePlace& place, absl::string_view what, absl::StatusCode code) {
  absl::Status status(code, absl::StrCat(place.name, ": ", what));
  if (!place.line.empty()) status.SetPayload(kExcerptUrl, absl::Cord(Excerpt(place)));
  return status;
}

std::string ExcerptOf(const absl::Status& status) {
  const auto excerpt = status.GetPayload(kExcerptUrl);
  return excerpt.has_value() ? std::string(*excerpt) : "";
}

std::string WithExcerpt(const absl::Status& status) {
  const std::string excerpt = ExcerptOf(status);
  return absl::StrCat(status.message(), excerpt.empty() ? "" : "\n", excerpt);
}

}  // namespace whetstone
