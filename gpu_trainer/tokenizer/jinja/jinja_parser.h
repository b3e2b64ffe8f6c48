// Parses the source text of a template into a tree. Internal to jinja.cc.
//
// White space is as transformers sets it: the newline after a block tag goes (trim_blocks), so does
// white space before one at the start of a line (lstrip_blocks), and `-` takes all on its side.
#ifndef WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_PARSER_H_
#define WHETSTONE_GPU_TRAINER_TOKENIZER_JINJA_JINJA_PARSER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_trainer/tokenizer/jinja/jinja_expression.h"

namespace whetstone::jinja {

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
