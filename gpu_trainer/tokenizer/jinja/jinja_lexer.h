// Cuts the source text of a template into tokens. Internal to jinja_parser.cc and jinja_cursor.h.
#ifndef WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_LEXER_H_
#define WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_LEXER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone::jinja {

struct Token {
  enum Kind {
    kText,        // literal output
    kPrintBegin,  // {{
    kPrintEnd,    // }}
    kBlockBegin,  // {%
    kBlockEnd,    // %}
    kName,
    kString,  // text: its value
    kInt,
    kFloat,
    kOperator,
    kEnd,
  };
  Kind kind = kEnd;
  std::string text;
  int line = 0;
};

// INVALID_ARGUMENT: a tag or string that never ends, or a character that means nothing.
absl::StatusOr<std::vector<Token>> Tokenize(absl::string_view source);

}  // namespace whetstone::jinja

#endif  // WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_LEXER_H_
