// Parses the expressions of the template language: tokens → tree. Internal to jinja.cc and its
// parser.
#ifndef WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_EXPRESSION_H_
#define WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_EXPRESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_trainer/tokenizer/jinja/jinja_cursor.h"
#include "gpu_trainer/tokenizer/jinja/jinja_value.h"

namespace whetstone::jinja {

// An Expr is an expression. `kind` says what `text` and `kids` are:
struct Expr {
  enum Kind {
    kLiteral,    // literal
    kName,       // text
    kList,       // kids
    kDict,       // kids: key, value, key, value …
    kAttribute,  // kids[0].text
    kIndex,      // kids[0][kids[1]]
    kSlice,      // kids[0][kids[1]:kids[2]:kids[3]]; a missing bound is a literal none
    kCall,       // kids[0](kids[1] …); names[i] is kids[i + 1]'s keyword, or ""
    kFilter,     // kids[0] | text(kids[1] …), names as in a call
    kTest,       // kids[0] is text(kids[1] …)
    kUnary,      // text: "not", "-", "+"
    kBinary,     // kids[0] text kids[1]; "and", "or", "==", "in", "not in", "~", "+" …
    kTernary,    // kids[0] if kids[1] else kids[2]
  };
  Kind kind = kLiteral;
  std::string text;
  Value literal;
  std::vector<std::unique_ptr<Expr>> kids;
  std::vector<std::string> names;
  int line = 0;
};

// Parses the expression that begins at the cursor, which it leaves behind it. INVALID_ARGUMENT: a
// syntax error, with its line.
absl::StatusOr<std::unique_ptr<Expr>> ParseExpression(TokenCursor* cursor);

// Does the same up to an `if` that would make it conditional: what a loop goes over, whose own `if`
// that is.
absl::StatusOr<std::unique_ptr<Expr>> ParseUnconditional(TokenCursor* cursor);

}  // namespace whetstone::jinja

#endif  // WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_EXPRESSION_H_
