#include "gpu_trainer/tokenizer/jinja/jinja_parser.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/tokenizer/jinja/jinja_cursor.h"
#include "gpu_trainer/tokenizer/jinja/jinja_lexer.h"

namespace whetstone::jinja {
namespace {

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : cursor_(std::move(tokens)) {}

  absl::StatusOr<Nodes> Run() {
    ASSIGN_OR_RETURN(Nodes nodes, Body({}));
    if (cursor_.Peek().kind != Token::kEnd) return cursor_.Fail("a block ends that never began");
    return nodes;
  }

 private:
  // Parses nodes up to a block tag whose name is in `ends` (left unread after its {%), or to the
  // end.
  absl::StatusOr<Nodes> Body(const std::set<std::string>& ends) {
    RETURN_IF_ERROR(cursor_.Enter());
    Nodes nodes;
    while (cursor_.Peek().kind != Token::kEnd) {
      if (cursor_.Peek().kind == Token::kBlockBegin && ends.count(cursor_.Peek(1).text)) break;
      ASSIGN_OR_RETURN(auto node, One());
      nodes.push_back(std::move(node));
    }
    cursor_.Leave();
    return nodes;
  }

  absl::StatusOr<std::unique_ptr<Node>> One() {
    auto node = std::make_unique<Node>();
    node->line = cursor_.Peek().line;
    if (cursor_.Peek().kind == Token::kText) {
      node->text = cursor_.Take().text;
      return node;
    }
    if (cursor_.Peek().kind == Token::kPrintBegin) {
      cursor_.Take();
      node->kind = Node::kPrint;
      ASSIGN_OR_RETURN(node->expr, ParseExpression(&cursor_));
      RETURN_IF_ERROR(cursor_.Expect(Token::kPrintEnd, "}}"));
      return node;
    }
    RETURN_IF_ERROR(cursor_.Expect(Token::kBlockBegin, "a tag"));
    ASSIGN_OR_RETURN(const std::string tag, cursor_.ExpectName());
    if (tag == "if") {
      RETURN_IF_ERROR(If(node.get()));
    } else if (tag == "for") {
      RETURN_IF_ERROR(For(node.get()));
    } else if (tag == "set") {
      RETURN_IF_ERROR(Set(node.get()));
    } else if (tag == "macro") {
      RETURN_IF_ERROR(Macro(node.get()));
    } else if (tag == "generation") {
      node->kind = Node::kScope;
      RETURN_IF_ERROR(cursor_.Expect(Token::kBlockEnd, "%}"));
      RETURN_IF_ERROR(BodyUntil("endgeneration", &node->body));
    } else if (tag == "break" || tag == "continue") {
      node->kind = tag == "break" ? Node::kBreak : Node::kContinue;
      RETURN_IF_ERROR(cursor_.Expect(Token::kBlockEnd, "%}"));
    } else {
      return cursor_.Fail(
          absl::StrCat("{% ", tag,
                       " %} is not supported; supported: if, for, set, macro, generation,"
                       " break, continue"));
    }
    return node;
  }

  // Parses what follows the opening tag: its body, and the closing tag.
  absl::Status BodyUntil(const std::string& end, Nodes* body) {
    ASSIGN_OR_RETURN(*body, Body({end}));
    RETURN_IF_ERROR(cursor_.Expect(Token::kBlockBegin, absl::StrCat("{% ", end, " %}")));
    cursor_.Take();
    return cursor_.Expect(Token::kBlockEnd, "%}");
  }

  absl::Status If(Node* node) {
    node->kind = Node::kIf;
    ASSIGN_OR_RETURN(node->expr, ParseExpression(&cursor_));
    RETURN_IF_ERROR(cursor_.Expect(Token::kBlockEnd, "%}"));
    ASSIGN_OR_RETURN(node->body, Body({"elif", "else", "endif"}));
    RETURN_IF_ERROR(cursor_.Expect(Token::kBlockBegin, "{% endif %}"));
    if (cursor_.TakeName("elif")) {
      auto inner = std::make_unique<Node>();
      inner->line = cursor_.Peek().line;
      RETURN_IF_ERROR(If(inner.get()));
      node->otherwise.push_back(std::move(inner));
      return absl::OkStatus();
    }
    if (cursor_.TakeName("else")) {
      RETURN_IF_ERROR(cursor_.Expect(Token::kBlockEnd, "%}"));
      return BodyUntil("endif", &node->otherwise);
    }
    cursor_.Take();
    return cursor_.Expect(Token::kBlockEnd, "%}");
  }

  absl::Status For(Node* node) {
    node->kind = Node::kFor;
    do {
      ASSIGN_OR_RETURN(std::string target, cursor_.ExpectName());
      node->targets.push_back(std::move(target));
    } while (cursor_.TakeOp(","));
    if (!cursor_.TakeName("in")) return cursor_.Fail("expected 'in'");
    // A conditional expression would swallow the loop's own `if`.
    ASSIGN_OR_RETURN(node->expr, ParseUnconditional(&cursor_));
    if (cursor_.TakeName("if")) {
      ASSIGN_OR_RETURN(node->condition, ParseExpression(&cursor_));
    }
    if (cursor_.IsName("recursive")) return cursor_.Fail("recursive loops are not supported");
    RETURN_IF_ERROR(cursor_.Expect(Token::kBlockEnd, "%}"));
    ASSIGN_OR_RETURN(node->body, Body({"else", "endfor"}));
    RETURN_IF_ERROR(cursor_.Expect(Token::kBlockBegin, "{% endfor %}"));
    if (cursor_.TakeName("else")) {
      RETURN_IF_ERROR(cursor_.Expect(Token::kBlockEnd, "%}"));
      return BodyUntil("endfor", &node->otherwise);
    }
    cursor_.Take();
    return cursor_.Expect(Token::kBlockEnd, "%}");
  }

  absl::Status Set(Node* node) {
    ASSIGN_OR_RETURN(std::string name, cursor_.ExpectName());
    node->targets.push_back(std::move(name));
    if (cursor_.TakeOp(".")) {
      ASSIGN_OR_RETURN(std::string member, cursor_.ExpectName());
      node->targets.push_back(std::move(member));
    }
    if (cursor_.IsOp(",")) return cursor_.Fail("setting several names at once is not supported");
    if (cursor_.TakeOp("=")) {
      node->kind = Node::kSet;
      ASSIGN_OR_RETURN(node->expr, ParseExpression(&cursor_));
      return cursor_.Expect(Token::kBlockEnd, "%}");
    }
    node->kind = Node::kSetBlock;
    RETURN_IF_ERROR(cursor_.Expect(Token::kBlockEnd, "%}"));
    return BodyUntil("endset", &node->body);
  }

  absl::Status Macro(Node* node) {
    node->kind = Node::kMacro;
    ASSIGN_OR_RETURN(node->text, cursor_.ExpectName());
    RETURN_IF_ERROR(cursor_.ExpectOp("("));
    while (!cursor_.IsOp(")")) {
      ASSIGN_OR_RETURN(std::string name, cursor_.ExpectName());
      node->targets.push_back(std::move(name));
      node->defaults.emplace_back();
      if (cursor_.TakeOp("=")) {
        ASSIGN_OR_RETURN(node->defaults.back(), ParseExpression(&cursor_));
      }
      if (!cursor_.TakeOp(",")) break;
    }
    RETURN_IF_ERROR(cursor_.ExpectOp(")"));
    RETURN_IF_ERROR(cursor_.Expect(Token::kBlockEnd, "%}"));
    return BodyUntil("endmacro", &node->body);
  }

  TokenCursor cursor_;
};

}  // namespace

absl::StatusOr<Nodes> ParseTemplate(absl::string_view source) {
  ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  return Parser(std::move(tokens)).Run();
}

}  // namespace whetstone::jinja
