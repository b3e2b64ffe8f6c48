#include "coordinator/yaml/call_commas.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/source_place.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

// The private-use characters U+E000, U+E001 and U+E002 stand for what is hidden.
constexpr char kHiddenComma[] = "\xee\x80\x80";
constexpr char kHiddenOpen[] = "\xee\x80\x81";
constexpr char kHiddenClose[] = "\xee\x80\x82";
constexpr int kDepthMax = 8;

class CommaHider {
 public:
  CommaHider(absl::string_view text, absl::string_view name, int first_line)
      : text_(text), name_(name), line_(first_line) {}

  absl::StatusOr<std::string> Run() {
    while (at_ < text_.size()) {
      if (depth_ > 0) {
        RETURN_IF_ERROR(Flow());
      } else {
        RETURN_IF_ERROR(Block());
      }
    }
    if (depth_ > 0) {
      return Wrong(open_at_, open_line_, "a '{' or '[' opened here is never closed");
    }
    return std::move(out_);
  }

 private:
  absl::Status Wrong(size_t at, int line, absl::string_view what) const {
    const size_t begin = text_.substr(0, at).rfind('\n') + 1;  // none: npos + 1 is 0
    const absl::string_view text = text_.substr(begin, text_.find('\n', begin) - begin);
    return ErrorAt({absl::StrCat(name_, ":", line), std::string(text), line, at - begin}, what);
  }
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\n';
  }
  void Copy() {
    if (text_[at_] == '\n') ++line_;
    out_ += text_[at_++];
  }
  void CopyQuoted() {
    const char quote = Peek();
    Copy();
    while (at_ < text_.size() && Peek() != quote) {
      if (quote == '"' && Peek() == '\\' && at_ + 1 < text_.size()) Copy();
      Copy();
    }
    if (at_ < text_.size()) Copy();
  }
  void CopyLine() {
    while (at_ < text_.size() && Peek() != '\n') Copy();
    if (at_ < text_.size()) Copy();
  }
  absl::Status Open() {
    if (depth_ == 0) {
      open_line_ = line_;
      open_at_ = at_;
    }
    if (++depth_ > kDepthMax) return Wrong(at_, line_, "nested too deeply");
    parentheses_ = 0;
    Copy();
    return absl::OkStatus();
  }

  // Hides the brackets of "[3]" right behind a word or other such brackets. Returns false if this
  // is something else.
  bool HideBrackets() {
    const bool behind_word =
        !out_.empty() && (absl::ascii_isalnum(static_cast<unsigned char>(out_.back())) ||
                          absl::EndsWith(out_, kHiddenClose));
    const size_t end = text_.find_first_of("[]{},#\n", at_ + 1);
    if (!behind_word || end == absl::string_view::npos || text_[end] != ']') return false;
    absl::StrAppend(&out_, kHiddenOpen, text_.substr(at_ + 1, end - at_ - 1), kHiddenClose);
    at_ = end + 1;
    return true;
  }

  // Copies one line outside of flow collections: only a value's first character can open one.
  absl::Status Block() {
    bool value_start = true;
    int dashes = 0;
    while (at_ < text_.size() && Peek() != '\n') {
      const char c = Peek();
      if (value_start && (c == '{' || c == '[')) return Open();
      if (value_start && (c == '"' || c == '\'')) {
        CopyQuoted();
        value_start = false;
        continue;
      }
      if (c == '#' && (out_.empty() || out_.back() == ' ' || out_.back() == '\n')) {
        CopyLine();
        return absl::OkStatus();
      }
      const bool separator =
          (c == ':' || (c == '-' && value_start)) && (Peek(1) == ' ' || Peek(1) == '\n');
      if (c == '-' && separator && ++dashes > kDepthMax) {
        return Wrong(at_, line_, "nested too deeply");
      }
      if (separator) {
        value_start = true;
      } else if (c != ' ') {
        value_start = false;
      }
      Copy();
    }
    if (at_ < text_.size()) Copy();
    return absl::OkStatus();
  }

  // Copies one character inside a flow collection.
  absl::Status Flow() {
    const char c = Peek();
    const char before = out_.empty() ? '\n' : out_.back();
    const bool token_start = before == ' ' || before == '\n' || before == '{' || before == '[' ||
                             before == ',' || before == ':';
    if (token_start && (c == '"' || c == '\'')) {
      CopyQuoted();
    } else if (token_start && c == '#') {
      CopyLine();
    } else if (c == '[' && HideBrackets()) {
      return absl::OkStatus();
    } else if (c == '{' || c == '[') {
      return Open();
    } else if (c == '}' || c == ']') {
      --depth_;
      parentheses_ = 0;
      Copy();
    } else if (c == ',' && parentheses_ > 0) {
      out_ += kHiddenComma;
      ++at_;
    } else {
      if (c == '(') ++parentheses_;
      if (c == ')' && parentheses_ > 0) --parentheses_;
      Copy();
    }
    return absl::OkStatus();
  }

  absl::string_view text_;
  absl::string_view name_;
  int line_;
  int open_line_ = 0;
  size_t open_at_ = 0;
  int depth_ = 0;
  int parentheses_ = 0;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

absl::StatusOr<std::string> HideCallCommas(absl::string_view text, absl::string_view name,
                                           int first_line) {
  const char* const kHidden[] = {kHiddenComma, kHiddenOpen, kHiddenClose};
  for (int i = 0; i < 3; ++i) {
    if (!absl::StrContains(text, kHidden[i])) continue;
    return absl::InvalidArgumentError(absl::StrCat(name, ":", first_line, ": the character U+E00",
                                                   i, " may not stand in this YAML"));
  }
  return CommaHider(text, name, first_line).Run();
}

std::string ShowCallCommas(const std::string& scalar) {
  return absl::StrReplaceAll(scalar,
                             {{kHiddenComma, ","}, {kHiddenOpen, "["}, {kHiddenClose, "]"}});
}

}  // namespace whetstone
