// An Expression is integer arithmetic over named size variables: the `shape`, `size` and `cost` of
// a prompt file.
//
//   auto e = Expression::Parse("2*n*(m + 1)");
//   e->Evaluate({{"n", 3}, {"m", 4}});   // 30
//
// The grammar is + - * / % over integers, names and parentheses; unary minus; and the functions
// min(a, b) and max(a, b). Division truncates. An expression is immutable and thread-safe after
// Parse.
#ifndef WHETSTONE_COMMON_PROBLEM_EXPRESSION_H_
#define WHETSTONE_COMMON_PROBLEM_EXPRESSION_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

class Expression {
 public:
  // INVALID_ARGUMENT shows the text and the column of the first error.
  static absl::StatusOr<Expression> Parse(absl::string_view text);
  // INVALID_ARGUMENT: unknown name, division by zero, or a value beyond 64 bits.
  absl::StatusOr<int64_t> Evaluate(const std::map<std::string, int64_t>& variables) const;
  const std::set<std::string>& names() const { return names_; }
  const std::string& text() const { return text_; }

 private:
  friend class ExpressionParser;
  // The tokens are in reverse Polish notation: a literal, a name, or an operator on the stack's
  // top.
  struct Token {
    char op = 0;  // 'i' literal, 'v' variable, '~' negate, 'm' min, 'M' max, or + - * / %
    int64_t literal = 0;
    std::string name;
  };
  std::string text_;
  std::set<std::string> names_;
  std::vector<Token> tokens_;
};

// Returns the parts of "n, min(a, b), 2*n": a comma within parentheses is part of an expression.
// They are stripped of spaces, and not parsed.
std::vector<std::string> SplitExpressions(absl::string_view list);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_PROBLEM_EXPRESSION_H_
