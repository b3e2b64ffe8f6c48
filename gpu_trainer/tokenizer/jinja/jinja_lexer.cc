#include "gpu_trainer/tokenizer/jinja/jinja_lexer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone::jinja {
namespace {

class Lexer {
 public:
  explicit Lexer(absl::string_view source) : source_(source) {
    // keep_trailing_newline is off: one newline at the end is not part of the template.
    if (absl::EndsWith(source_, "\n")) source_.remove_suffix(1);
  }

  absl::StatusOr<std::vector<Token>> Run() {
    while (at_ < source_.size()) {
      const size_t tag = NextTag();
      Text(tag);
      if (tag == source_.size()) break;
      RETURN_IF_ERROR(Tag());
    }
    Add(Token::kEnd, "");
    return std::move(tokens_);
  }

 private:
  size_t NextTag() const {
    for (size_t i = at_; i + 1 < source_.size(); ++i) {
      if (source_[i] == '{' &&
          (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#')) {
        return i;
      }
    }
    return source_.size();
  }

  // Emits the text before `tag`, trimmed as the tags on both sides ask.
  void Text(size_t tag) {
    const size_t begin = at_;
    std::string text(source_.substr(begin, tag - begin));
    size_t skip = 0;
    if (trim_after_ == '-') {
      while (skip < text.size() && absl::ascii_isspace(text[skip])) ++skip;
    } else if (trim_after_ == 'b' && absl::StartsWith(text, "\n")) {
      skip = 1;
    }
    text.erase(0, skip);
    if (tag < source_.size()) {
      const char kind = source_[tag + 1];
      const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
      if (sign == '-') {
        while (!text.empty() && absl::ascii_isspace(text.back())) text.pop_back();
      } else if (kind != '{' && sign != '+') {
        size_t end = text.size();
        while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
        // A line starts after a newline of this text, or of what was before it.
        const bool line_start = end > 0 ? text[end - 1] == '\n'
                                        : begin + skip == 0 || source_[begin + skip - 1] == '\n';
        if (line_start) text.resize(end);
      }
    }
    trim_after_ = 0;
    if (!text.empty()) Add(Token::kText, std::move(text));
    line_ += static_cast<int>(std::count(source_.begin() + begin, source_.begin() + tag, '\n'));
    at_ = tag;
  }

  absl::Status Tag() {
    const char kind = source_[at_ + 1];
    at_ += 2;
    if (kind == '#') {
      const size_t end = source_.find("#}", at_);
      if (end == absl::string_view::npos) return Fail("a comment never ends");
      line_ += static_cast<int>(std::count(source_.begin() + at_, source_.begin() + end, '\n'));
      trim_after_ = source_[end - 1] == '-' ? '-' : 'b';
      at_ = end + 2;
      return absl::OkStatus();
    }
    if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) ++at_;
    Add(kind == '{' ? Token::kPrintBegin : Token::kBlockBegin, "");
    const std::string close = kind == '{' ? "}}" : "%}";
    int depth = 0;  // It counts the { inside the tag.
    while (true) {
      while (at_ < source_.size() && absl::ascii_isspace(source_[at_])) {
        line_ += source_[at_++] == '\n';
      }
      const absl::string_view rest = source_.substr(at_);
      if (rest.empty()) return Fail("a tag never ends");
      if (depth == 0 &&
          (absl::StartsWith(rest, close) ||
           ((rest[0] == '-' || rest[0] == '+') && absl::StartsWith(rest.substr(1), close)))) {
        const bool sign = rest[0] == '-' || rest[0] == '+';
        if (rest[0] == '-') {
          trim_after_ = '-';
        } else if (kind == '%' && rest[0] != '+') {
          trim_after_ = 'b';
        }
        at_ += close.size() + (sign ? 1 : 0);
        Add(kind == '{' ? Token::kPrintEnd : Token::kBlockEnd, "");
        return absl::OkStatus();
      }
      if (rest[0] == '{') ++depth;
      if (rest[0] == '}') --depth;
      RETURN_IF_ERROR(One(rest));
    }
  }

  absl::Status One(absl::string_view rest) {
    if (absl::ascii_isalpha(rest[0]) || rest[0] == '_') {
      size_t n = 1;
      while (n < rest.size() && (absl::ascii_isalnum(rest[n]) || rest[n] == '_')) ++n;
      return Take(Token::kName, rest, n);
    }
    if (absl::ascii_isdigit(rest[0])) {
      size_t n = 1;
      while (n < rest.size() && absl::ascii_isdigit(rest[n])) ++n;
      if (n + 1 < rest.size() && rest[n] == '.' && absl::ascii_isdigit(rest[n + 1])) {
        ++n;
        while (n < rest.size() && absl::ascii_isdigit(rest[n])) ++n;
        return Take(Token::kFloat, rest, n);
      }
      return Take(Token::kInt, rest, n);
    }
    if (rest[0] == '\'' || rest[0] == '"') return String(rest);
    for (const char* two : {"==", "!=", "<=", ">=", "//", "**"}) {
      if (absl::StartsWith(rest, two)) return Take(Token::kOperator, rest, 2);
    }
    if (absl::StrContains("+-*/%~<>=()[]{},.:|", rest.substr(0, 1))) {
      return Take(Token::kOperator, rest, 1);
    }
    return Fail(absl::StrCat("unexpected character '", rest.substr(0, 1), "'"));
  }

  absl::Status String(absl::string_view rest) {
    std::string value;
    const char quote = rest[0];
    size_t i = 1;
    for (; i < rest.size() && rest[i] != quote; ++i) {
      line_ += rest[i] == '\n';
      if (rest[i] != '\\' || i + 1 >= rest.size()) {
        value.push_back(rest[i]);
        continue;
      }
      switch (rest[++i]) {
        case 'n':
          value.push_back('\n');
          break;
        case 't':
          value.push_back('\t');
          break;
        case 'r':
          value.push_back('\r');
          break;
        case '\\':
        case '\'':
        case '"':
          value.push_back(rest[i]);
          break;
        case '\n':
          break;
        case 'u':
        case 'x':
        case 'U':
        case 'N':
          return Fail("numeric escapes in strings are not supported");
        default:
          value.push_back('\\');
          value.push_back(rest[i]);
      }
    }
    if (i >= rest.size()) return Fail("a string never ends");
    at_ += i + 1;
    Add(Token::kString, std::move(value));
    return absl::OkStatus();
  }

  absl::Status Take(Token::Kind kind, absl::string_view rest, size_t n) {
    Add(kind, std::string(rest.substr(0, n)));
    at_ += n;
    return absl::OkStatus();
  }
  void Add(Token::Kind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), line_});
  }
  absl::Status Fail(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("line ", line_, ": ", what));
  }

  absl::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  // The tag before does this to the text after it: '-' removes all white space, 'b' one newline.
  char trim_after_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

absl::StatusOr<std::vector<Token>> Tokenize(absl::string_view source) {
  return Lexer(source).Run();
}

}  // namespace whetstone::jinja
