#include "common/problem/expression.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {

// The parser descends recursively; nesting is bounded so that hostile text cannot exhaust the
// stack.
class ExpressionParser {
 public:
  explicit ExpressionParser(absl::string_view text) { result_.text_ = std::string(text); }

  absl::StatusOr<Expression> Run() {
    RETURN_IF_ERROR(Sum(0));
    SkipSpace();
    if (at_ != text().size()) return Error("unexpected character");
    return std::move(result_);
  }

 private:
  static constexpr int kDepthMax = 64;

  const std::string& text() const { return result_.text_; }
  char Peek() {
    SkipSpace();
    return at_ < text().size() ? text()[at_] : '\0';
  }
  void SkipSpace() {
    while (at_ < text().size() && absl::ascii_isspace(static_cast<unsigned char>(text()[at_])))
      ++at_;
  }
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("expression \"", text(), "\", column ", at_ + 1, ": ", what));
  }
  void Emit(char op) { result_.tokens_.push_back({op, 0, ""}); }

  absl::Status Sum(int depth) {
    if (depth > kDepthMax) return Error("nested too deeply");
    RETURN_IF_ERROR(Product(depth));
    for (char c = Peek(); c == '+' || c == '-'; c = Peek()) {
      ++at_;
      RETURN_IF_ERROR(Product(depth));
      Emit(c);
    }
    return absl::OkStatus();
  }

  absl::Status Product(int depth) {
    RETURN_IF_ERROR(Unary(depth));
    for (char c = Peek(); c == '*' || c == '/' || c == '%'; c = Peek()) {
      ++at_;
      RETURN_IF_ERROR(Unary(depth));
      Emit(c);
    }
    return absl::OkStatus();
  }

  absl::Status Unary(int depth) {
    if (Peek() != '-') return Primary(depth);
    if (depth > kDepthMax) return Error("nested too deeply");
    ++at_;
    RETURN_IF_ERROR(Unary(depth + 1));
    Emit('~');
    return absl::OkStatus();
  }

  absl::Status Primary(int depth) {
    const char c = Peek();
    if (c == '(') {
      ++at_;
      RETURN_IF_ERROR(Sum(depth + 1));
      return Expect(')');
    }
    const auto is_word = [](char x) {
      return absl::ascii_isalnum(static_cast<unsigned char>(x)) || x == '_';
    };
    const size_t begin = at_;
    while (at_ < text().size() && is_word(text()[at_])) ++at_;
    const std::string word = text().substr(begin, at_ - begin);
    if (word.empty()) return Error(c == '\0' ? "ends too early" : "expected a number or a name");
    if (absl::ascii_isdigit(static_cast<unsigned char>(word[0]))) {
      int64_t value = 0;
      if (!absl::SimpleAtoi(word, &value)) return Error("not a 64-bit integer");
      result_.tokens_.push_back({'i', value, ""});
      return absl::OkStatus();
    }
    if ((word == "min" || word == "max") && Peek() == '(') {
      ++at_;
      RETURN_IF_ERROR(Sum(depth + 1));
      RETURN_IF_ERROR(Expect(','));
      RETURN_IF_ERROR(Sum(depth + 1));
      Emit(word == "min" ? 'm' : 'M');
      return Expect(')');
    }
    result_.names_.insert(word);
    result_.tokens_.push_back({'v', 0, word});
    return absl::OkStatus();
  }

  absl::Status Expect(char c) {
    if (Peek() != c) return Error(absl::StrCat("expected '", std::string(1, c), "'"));
    ++at_;
    return absl::OkStatus();
  }

  Expression result_;
  size_t at_ = 0;
};

absl::StatusOr<Expression> Expression::Parse(absl::string_view text) {
  return ExpressionParser(text).Run();
}

absl::StatusOr<int64_t> Expression::Evaluate(
    const std::map<std::string, int64_t>& variables) const {
  const auto error = [this](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("expression \"", text_, "\": ", what));
  };
  std::vector<int64_t> stack;
  for (const Token& token : tokens_) {
    if (token.op == 'i') {
      stack.push_back(token.literal);
      continue;
    }
    if (token.op == 'v') {
      const auto it = variables.find(token.name);
      if (it == variables.end()) {
        return error(absl::StrCat("unknown size variable '", token.name, "'"));
      }
      stack.push_back(it->second);
      continue;
    }
    int64_t& top = stack.back();
    if (token.op == '~') {
      if (__builtin_sub_overflow(int64_t{0}, top, &top)) return error("value beyond 64 bits");
      continue;
    }
    const int64_t right = top;
    stack.pop_back();
    int64_t& left = stack.back();
    bool overflow = false;
    switch (token.op) {
      case '+':
        overflow = __builtin_add_overflow(left, right, &left);
        break;
      case '-':
        overflow = __builtin_sub_overflow(left, right, &left);
        break;
      case '*':
        overflow = __builtin_mul_overflow(left, right, &left);
        break;
      case 'm':
        left = std::min(left, right);
        break;
      case 'M':
        left = std::max(left, right);
        break;
      default:
        if (right == 0) return error("division by zero");
        overflow = left == std::numeric_limits<int64_t>::min() && right == -1;
        if (!overflow) left = token.op == '/' ? left / right : left % right;
    }
    if (overflow) return error("value beyond 64 bits");
  }
  CHECK(stack.size() == 1);
  return stack.back();
}

std::vector<std::string> SplitExpressions(absl::string_view list) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : list) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) absl::StripAsciiWhitespace(&part);
  return parts;
}

}  // namespace whetstone
