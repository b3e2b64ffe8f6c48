#include "gpu_trainer/tokenizer/jinja/jinja_parser.h"

#include <cstdlib>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/tokenizer/jinja/jinja_lexer.h"

namespace whetstone::jinja {
namespace {

using ExprPtr = std::unique_ptr<Expr>;
using ParsedExpr = absl::StatusOr<ExprPtr>;

constexpr int kDepthMax = 200;  // of nested expressions and blocks

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  absl::StatusOr<Nodes> Run() {
    ASSIGN_OR_RETURN(Nodes nodes, Body({}));
    if (Peek().kind != Token::kEnd) return Fail("a block ends that never began");
    return nodes;
  }

 private:
  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool IsOp(absl::string_view op) const {
    return Peek().kind == Token::kOperator && Peek().text == op;
  }
  bool IsName(absl::string_view name) const {
    return Peek().kind == Token::kName && Peek().text == name;
  }
  bool TakeOp(absl::string_view op) { return IsOp(op) && ++at_; }
  bool TakeName(absl::string_view name) { return IsName(name) && ++at_; }
  absl::Status Fail(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("line ", Peek().line, ": ", what));
  }
  absl::Status Expect(Token::Kind kind, absl::string_view what) {
    if (Peek().kind != kind) {
      return Fail(absl::StrCat("expected ", what, ", found '", Peek().text, "'"));
    }
    ++at_;
    return absl::OkStatus();
  }
  absl::Status ExpectOp(absl::string_view op) {
    if (TakeOp(op)) return absl::OkStatus();
    return Fail(absl::StrCat("expected '", op, "', found '", Peek().text, "'"));
  }
  absl::StatusOr<std::string> Name() {
    const std::string name = Peek().text;
    RETURN_IF_ERROR(Expect(Token::kName, "a name"));
    return name;
  }

  // Nodes up to a block tag whose name is in `ends` (left unread after its {%), or the end.
  absl::StatusOr<Nodes> Body(const std::set<std::string>& ends) {
    if (++depth_ > kDepthMax) return Fail("nested too deeply");
    Nodes nodes;
    while (Peek().kind != Token::kEnd) {
      if (Peek().kind == Token::kBlockBegin && ends.count(Peek(1).text)) break;
      ASSIGN_OR_RETURN(auto node, One());
      nodes.push_back(std::move(node));
    }
    --depth_;
    return nodes;
  }

  absl::StatusOr<std::unique_ptr<Node>> One() {
    auto node = std::make_unique<Node>();
    node->line = Peek().line;
    if (Peek().kind == Token::kText) {
      node->text = tokens_[at_++].text;
      return node;
    }
    if (Peek().kind == Token::kPrintBegin) {
      ++at_;
      node->kind = Node::kPrint;
      ASSIGN_OR_RETURN(node->expr, Expression());
      RETURN_IF_ERROR(Expect(Token::kPrintEnd, "}}"));
      return node;
    }
    RETURN_IF_ERROR(Expect(Token::kBlockBegin, "a tag"));
    ASSIGN_OR_RETURN(const std::string tag, Name());
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
      RETURN_IF_ERROR(Expect(Token::kBlockEnd, "%}"));
      RETURN_IF_ERROR(BodyUntil("endgeneration", &node->body));
    } else if (tag == "break" || tag == "continue") {
      node->kind = tag == "break" ? Node::kBreak : Node::kContinue;
      RETURN_IF_ERROR(Expect(Token::kBlockEnd, "%}"));
    } else {
      return Fail(absl::StrCat("{% ", tag,
                               " %} is not supported; supported: if, for, set, macro, generation,"
                               " break, continue"));
    }
    return node;
  }

  // After the opening tag: its body, and the closing tag.
  absl::Status BodyUntil(const std::string& end, Nodes* body) {
    ASSIGN_OR_RETURN(*body, Body({end}));
    RETURN_IF_ERROR(Expect(Token::kBlockBegin, absl::StrCat("{% ", end, " %}")));
    ++at_;
    return Expect(Token::kBlockEnd, "%}");
  }

  absl::Status If(Node* node) {
    node->kind = Node::kIf;
    ASSIGN_OR_RETURN(node->expr, Expression());
    RETURN_IF_ERROR(Expect(Token::kBlockEnd, "%}"));
    ASSIGN_OR_RETURN(node->body, Body({"elif", "else", "endif"}));
    RETURN_IF_ERROR(Expect(Token::kBlockBegin, "{% endif %}"));
    if (TakeName("elif")) {
      auto inner = std::make_unique<Node>();
      inner->line = Peek().line;
      RETURN_IF_ERROR(If(inner.get()));
      node->otherwise.push_back(std::move(inner));
      return absl::OkStatus();
    }
    if (TakeName("else")) {
      RETURN_IF_ERROR(Expect(Token::kBlockEnd, "%}"));
      return BodyUntil("endif", &node->otherwise);
    }
    ++at_;
    return Expect(Token::kBlockEnd, "%}");
  }

  absl::Status For(Node* node) {
    node->kind = Node::kFor;
    do {
      ASSIGN_OR_RETURN(std::string target, Name());
      node->targets.push_back(std::move(target));
    } while (TakeOp(","));
    if (!TakeName("in")) return Fail("expected 'in'");
    // A conditional expression would swallow the loop's own `if`.
    ASSIGN_OR_RETURN(node->expr, Or());
    if (TakeName("if")) {
      ASSIGN_OR_RETURN(node->condition, Expression());
    }
    if (IsName("recursive")) return Fail("recursive loops are not supported");
    RETURN_IF_ERROR(Expect(Token::kBlockEnd, "%}"));
    ASSIGN_OR_RETURN(node->body, Body({"else", "endfor"}));
    RETURN_IF_ERROR(Expect(Token::kBlockBegin, "{% endfor %}"));
    if (TakeName("else")) {
      RETURN_IF_ERROR(Expect(Token::kBlockEnd, "%}"));
      return BodyUntil("endfor", &node->otherwise);
    }
    ++at_;
    return Expect(Token::kBlockEnd, "%}");
  }

  absl::Status Set(Node* node) {
    ASSIGN_OR_RETURN(std::string name, Name());
    node->targets.push_back(std::move(name));
    if (TakeOp(".")) {
      ASSIGN_OR_RETURN(std::string member, Name());
      node->targets.push_back(std::move(member));
    }
    if (IsOp(",")) return Fail("setting several names at once is not supported");
    if (TakeOp("=")) {
      node->kind = Node::kSet;
      ASSIGN_OR_RETURN(node->expr, Expression());
      return Expect(Token::kBlockEnd, "%}");
    }
    node->kind = Node::kSetBlock;
    RETURN_IF_ERROR(Expect(Token::kBlockEnd, "%}"));
    return BodyUntil("endset", &node->body);
  }

  absl::Status Macro(Node* node) {
    node->kind = Node::kMacro;
    ASSIGN_OR_RETURN(node->text, Name());
    RETURN_IF_ERROR(ExpectOp("("));
    while (!IsOp(")")) {
      ASSIGN_OR_RETURN(std::string name, Name());
      node->targets.push_back(std::move(name));
      node->defaults.emplace_back();
      if (TakeOp("=")) {
        ASSIGN_OR_RETURN(node->defaults.back(), Expression());
      }
      if (!TakeOp(",")) break;
    }
    RETURN_IF_ERROR(ExpectOp(")"));
    RETURN_IF_ERROR(Expect(Token::kBlockEnd, "%}"));
    return BodyUntil("endmacro", &node->body);
  }

  ExprPtr Make(Expr::Kind kind, std::string text = "") const {
    auto expr = std::make_unique<Expr>();
    expr->kind = kind;
    expr->text = std::move(text);
    expr->line = Peek().line;
    return expr;
  }
  ExprPtr Literal(Value value) const {
    ExprPtr expr = Make(Expr::kLiteral);
    expr->literal = std::move(value);
    return expr;
  }
  ExprPtr Binary(std::string op, ExprPtr left, ExprPtr right) const {
    ExprPtr expr = Make(Expr::kBinary, std::move(op));
    expr->kids.push_back(std::move(left));
    expr->kids.push_back(std::move(right));
    return expr;
  }

  ParsedExpr Expression() {
    if (++depth_ > kDepthMax) return Fail("nested too deeply");
    ASSIGN_OR_RETURN(ExprPtr expr, Or());
    while (TakeName("if")) {
      ExprPtr ternary = Make(Expr::kTernary);
      ASSIGN_OR_RETURN(ExprPtr condition, Or());
      ExprPtr otherwise = Literal(Value());
      if (TakeName("else")) {
        ASSIGN_OR_RETURN(otherwise, Expression());
      }
      ternary->kids.push_back(std::move(expr));
      ternary->kids.push_back(std::move(condition));
      ternary->kids.push_back(std::move(otherwise));
      expr = std::move(ternary);
    }
    --depth_;
    return expr;
  }

  ParsedExpr Or() {
    ASSIGN_OR_RETURN(ExprPtr left, And());
    while (TakeName("or")) {
      ASSIGN_OR_RETURN(ExprPtr right, And());
      left = Binary("or", std::move(left), std::move(right));
    }
    return left;
  }
  ParsedExpr And() {
    ASSIGN_OR_RETURN(ExprPtr left, Not());
    while (TakeName("and")) {
      ASSIGN_OR_RETURN(ExprPtr right, Not());
      left = Binary("and", std::move(left), std::move(right));
    }
    return left;
  }
  ParsedExpr Not() {
    if (!TakeName("not")) return Compare();
    ExprPtr expr = Make(Expr::kUnary, "not");
    ASSIGN_OR_RETURN(ExprPtr kid, Not());
    expr->kids.push_back(std::move(kid));
    return expr;
  }
  ParsedExpr Compare() {
    ASSIGN_OR_RETURN(ExprPtr left, Sum());
    while (true) {
      std::string op;
      for (const char* candidate : {"==", "!=", "<", ">", "<=", ">="}) {
        if (IsOp(candidate)) op = candidate;
      }
      if (!op.empty()) {
        ++at_;
      } else if (TakeName("in")) {
        op = "in";
      } else if (IsName("not") && Peek(1).kind == Token::kName && Peek(1).text == "in") {
        at_ += 2;
        op = "not in";
      } else {
        return left;
      }
      ASSIGN_OR_RETURN(ExprPtr right, Sum());
      left = Binary(op, std::move(left), std::move(right));
    }
  }
  // Lowest of `levels` first; each level's operators group to the left.
  ParsedExpr Level(size_t level) {
    static const std::vector<std::vector<std::string>> kLevels = {
        {"+", "-"}, {"~"}, {"*", "/", "//", "%"}};
    if (level == kLevels.size()) return Unary();
    ASSIGN_OR_RETURN(ExprPtr left, Level(level + 1));
    while (true) {
      std::string op;
      for (const std::string& candidate : kLevels[level]) {
        if (IsOp(candidate)) op = candidate;
      }
      if (op.empty()) return left;
      ++at_;
      ASSIGN_OR_RETURN(ExprPtr right, Level(level + 1));
      left = Binary(op, std::move(left), std::move(right));
    }
  }
  ParsedExpr Sum() { return Level(0); }

  ParsedExpr Unary() {
    ExprPtr expr;
    if (IsOp("-") || IsOp("+")) {
      if (++depth_ > kDepthMax) return Fail("nested too deeply");
      expr = Make(Expr::kUnary, tokens_[at_++].text);
      ASSIGN_OR_RETURN(ExprPtr kid, Unary());
      expr->kids.push_back(std::move(kid));
      --depth_;
    } else {
      ASSIGN_OR_RETURN(expr, Primary());
    }
    while (true) {
      if (IsOp(".") || IsOp("[") || IsOp("(")) {
        ASSIGN_OR_RETURN(expr, Postfix(std::move(expr)));
      } else if (TakeOp("|")) {
        ASSIGN_OR_RETURN(expr, Applied(Expr::kFilter, std::move(expr)));
      } else if (TakeName("is")) {
        const bool negated = TakeName("not");
        ASSIGN_OR_RETURN(expr, Applied(Expr::kTest, std::move(expr)));
        if (negated) {
          ExprPtr outer = Make(Expr::kUnary, "not");
          outer->kids.push_back(std::move(expr));
          expr = std::move(outer);
        }
      } else {
        return expr;
      }
    }
  }

  // A filter or test after its sign: a name and perhaps arguments.
  ParsedExpr Applied(Expr::Kind kind, ExprPtr to) {
    ASSIGN_OR_RETURN(std::string name, Name());
    ExprPtr expr = Make(kind, std::move(name));
    expr->kids.push_back(std::move(to));
    if (TakeOp("(")) {
      RETURN_IF_ERROR(Arguments(expr.get()));
    } else if (kind == Expr::kTest &&
               (Peek().kind == Token::kString || Peek().kind == Token::kInt)) {
      ASSIGN_OR_RETURN(ExprPtr argument, Primary());  // x is divisibleby 3
      expr->kids.push_back(std::move(argument));
      expr->names.emplace_back();
    }
    return expr;
  }

  ParsedExpr Postfix(ExprPtr of) {
    if (TakeOp("(")) {
      ExprPtr call = Make(Expr::kCall);
      call->kids.push_back(std::move(of));
      RETURN_IF_ERROR(Arguments(call.get()));
      return call;
    }
    if (TakeOp(".")) {
      ASSIGN_OR_RETURN(std::string name, Name());
      ExprPtr attribute = Make(Expr::kAttribute, std::move(name));
      attribute->kids.push_back(std::move(of));
      return attribute;
    }
    RETURN_IF_ERROR(ExpectOp("["));
    std::vector<ExprPtr> bounds;
    bool slice = false;
    while (!IsOp("]")) {
      if (IsOp(":")) {
        bounds.push_back(Literal(Value::None()));
      } else {
        ASSIGN_OR_RETURN(ExprPtr bound, Expression());
        bounds.push_back(std::move(bound));
      }
      if (!TakeOp(":")) break;
      slice = true;
    }
    RETURN_IF_ERROR(ExpectOp("]"));
    ExprPtr expr = Make(slice ? Expr::kSlice : Expr::kIndex);
    expr->kids.push_back(std::move(of));
    for (ExprPtr& bound : bounds) expr->kids.push_back(std::move(bound));
    if (slice) {
      while (expr->kids.size() < 4) expr->kids.push_back(Literal(Value::None()));
    }
    if (expr->kids.size() != (slice ? 4u : 2u)) return Fail("bad index");
    return expr;
  }

  // After "(": arguments and ")". kids[0] is there already; names[i] belongs to kids[i + 1].
  absl::Status Arguments(Expr* call) {
    while (!IsOp(")")) {
      std::string name;
      if (Peek().kind == Token::kName && Peek(1).kind == Token::kOperator && Peek(1).text == "=") {
        name = Peek().text;
        at_ += 2;
      }
      ASSIGN_OR_RETURN(ExprPtr argument, Expression());
      call->kids.push_back(std::move(argument));
      call->names.push_back(std::move(name));
      if (!TakeOp(",")) break;
    }
    return ExpectOp(")");
  }

  ParsedExpr Primary() {
    const Token token = Peek();
    switch (token.kind) {
      case Token::kString: {
        std::string text;
        while (Peek().kind == Token::kString) text += tokens_[at_++].text;  // neighbours join
        return Literal(Value::Of(std::move(text)));
      }
      case Token::kInt:
        ++at_;
        return Literal(
            Value::Of(static_cast<int64_t>(std::strtoll(token.text.c_str(), nullptr, 10))));
      case Token::kFloat:
        ++at_;
        return Literal(Value::Of(std::strtod(token.text.c_str(), nullptr)));
      case Token::kName:
        ++at_;
        if (token.text == "true" || token.text == "True") return Literal(Value::Of(true));
        if (token.text == "false" || token.text == "False") return Literal(Value::Of(false));
        if (token.text == "none" || token.text == "None") return Literal(Value::None());
        return Make(Expr::kName, token.text);
      default:
        break;
    }
    if (TakeOp("(")) return Items(Expr::kList, ")", /*may_be_single=*/true);
    if (TakeOp("[")) return Items(Expr::kList, "]", /*may_be_single=*/false);
    if (TakeOp("{")) {
      ExprPtr dict = Make(Expr::kDict);
      while (!IsOp("}")) {
        ASSIGN_OR_RETURN(ExprPtr key, Expression());
        RETURN_IF_ERROR(ExpectOp(":"));
        ASSIGN_OR_RETURN(ExprPtr value, Expression());
        dict->kids.push_back(std::move(key));
        dict->kids.push_back(std::move(value));
        if (!TakeOp(",")) break;
      }
      RETURN_IF_ERROR(ExpectOp("}"));
      return dict;
    }
    return Fail(absl::StrCat("expected a value, found '", token.text, "'"));
  }

  // A list or tuple after its bracket; "(x)" is x itself.
  ParsedExpr Items(Expr::Kind kind, absl::string_view close, bool may_be_single) {
    ExprPtr list = Make(kind);
    bool comma = false;
    while (!IsOp(close)) {
      ASSIGN_OR_RETURN(ExprPtr item, Expression());
      list->kids.push_back(std::move(item));
      if (!TakeOp(",")) break;
      comma = true;
    }
    RETURN_IF_ERROR(ExpectOp(close));
    if (may_be_single && !comma && list->kids.size() == 1) return std::move(list->kids[0]);
    return list;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<Nodes> ParseTemplate(absl::string_view source) {
  ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  return Parser(std::move(tokens)).Run();
}

}  // namespace whetstone::jinja
