// Source text of a template → tree. Internal to jinja.cc.
//
// White space as transformers sets it: the newline after a block tag goes (trim_blocks), so does
// white space before one at the start of a line (lstrip_blocks), and `-` takes all on its side.
#ifndef WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_PARSER_H_
#define WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_PARSER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_trainer/tokenizer/jinja/jinja_value.h"

namespace whetstone::jinja {

// An expression. `text` and `kids` by kind:
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

struct Node {
  enum Kind {
    kText,      // text
    kPrint,     // expr
    kIf,        // expr, body, otherwise
    kFor,       // for targets in expr if condition: body, else otherwise
    kSet,       // targets[0] = expr; or targets[0].targets[1] = expr
    kSetBlock,  // targets[0] = output of body
    kScope,     // body alone (generation tags)
    kMacro,     // text(targets…): body; defaults[i] belongs to targets[i] or is null
    kBreak,
    kContinue,
  };
  Kind kind = kText;
  std::string text;
  std::unique_ptr<Expr> expr, condition;
  std::vector<std::string> targets;
  std::vector<std::unique_ptr<Expr>> defaults;
  std::vector<std::unique_ptr<Node>> body, otherwise;
  int line = 0;
};

using Nodes = std::vector<std::unique_ptr<Node>>;

// INVALID_ARGUMENT: a syntax error or something unsupported, with its line.
absl::StatusOr<Nodes> ParseTemplate(absl::string_view source);

}  // namespace whetstone::jinja

#endif  // WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_PARSER_H_
