// A TokenCursor is where a parser is among the tokens of a template. Internal to jinja_parser.cc
// and jinja_expression.cc.
#ifndef WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_CURSOR_H_
#define WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_CURSOR_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_trainer/tokenizer/jinja/jinja_lexer.h"

namespace whetstone::jinja {

class TokenCursor {
 public:
  // `tokens` ends with a kEnd, which is never taken.
  explicit TokenCursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& Take() { return tokens_[at_++]; }

  bool IsOp(absl::string_view op) const {
    return Peek().kind == Token::kOperator && Peek().text == op;
  }
  bool IsName(absl::string_view name) const {
    return Peek().kind == Token::kName && Peek().text == name;
  }
  // Returns whether it was the next token, which is then taken.
  bool TakeOp(absl::string_view op) { return IsOp(op) && ++at_; }
  bool TakeName(absl::string_view name) { return IsName(name) && ++at_; }

  // Returns INVALID_ARGUMENT, with the line.
  absl::Status Fail(absl::string_view what) const;
  // Takes the next token. INVALID_ARGUMENT: it is another.
  absl::Status Expect(Token::Kind kind, absl::string_view what);
  absl::Status ExpectOp(absl::string_view op);
  absl::StatusOr<std::string> ExpectName();

  // These go around a nested expression or block. INVALID_ARGUMENT: nested too deeply.
  absl::Status Enter();
  void Leave() { --depth_; }

 private:
  const std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace whetstone::jinja

#endif  // WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_CURSOR_H_
