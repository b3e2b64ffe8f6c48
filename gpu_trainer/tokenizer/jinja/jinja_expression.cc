#include "gpu_trainer/tokenizer/jinja/jinja_expression.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone::jinja {
namespace {

using ExprPtr = std::unique_ptr<Expr>;
using ParsedExpr = absl::StatusOr<ExprPtr>;

// The parser has a function for each level of precedence, loosest first.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenCursor* cursor) : cursor_(*cursor) {}

  ParsedExpr Expression() {
    RETURN_IF_ERROR(cursor_.Enter());
    ASSIGN_OR_RETURN(ExprPtr expr, Or());
    while (cursor_.TakeName("if")) {
      ExprPtr ternary = Make(Expr::kTernary);
      ASSIGN_OR_RETURN(ExprPtr condition, Or());
      ExprPtr otherwise = Literal(Value());
      if (cursor_.TakeName("else")) {
        ASSIGN_OR_RETURN(otherwise, Expression());
      }
      ternary->kids.push_back(std::move(expr));
      ternary->kids.push_back(std::move(condition));
      ternary->kids.push_back(std::move(otherwise));
      expr = std::move(ternary);
    }
    cursor_.Leave();
    return expr;
  }

  ParsedExpr Or() {
    ASSIGN_OR_RETURN(ExprPtr left, And());
    while (cursor_.TakeName("or")) {
      ASSIGN_OR_RETURN(ExprPtr right, And());
      left = Binary("or", std::move(left), std::move(right));
    }
    return left;
  }

 private:
  ParsedExpr And() {
    ASSIGN_OR_RETURN(ExprPtr left, Not());
    while (cursor_.TakeName("and")) {
      ASSIGN_OR_RETURN(ExprPtr right, Not());
      left = Binary("and", std::move(left), std::move(right));
    }
    return left;
  }
  ParsedExpr Not() {
    if (!cursor_.TakeName("not")) return Compare();
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
        if (cursor_.IsOp(candidate)) op = candidate;
      }
      if (!op.empty()) {
        cursor_.Take();
      } else if (cursor_.TakeName("in")) {
        op = "in";
      } else if (cursor_.IsName("not") && cursor_.Peek(1).kind == Token::kName &&
                 cursor_.Peek(1).text == "in") {
        cursor_.Take();
        cursor_.Take();
        op = "not in";
      } else {
        return left;
      }
      ASSIGN_OR_RETURN(ExprPtr right, Sum());
      left = Binary(op, std::move(left), std::move(right));
    }
  }
  // Parses the lowest of `levels` first; each level's operators group to the left.
  ParsedExpr Level(size_t level) {
    static const std::vector<std::vector<std::string>> kLevels = {
        {"+", "-"}, {"~"}, {"*", "/", "//", "%"}};
    if (level == kLevels.size()) return Unary();
    ASSIGN_OR_RETURN(ExprPtr left, Level(level + 1));
    while (true) {
      std::string op;
      for (const std::string& candidate : kLevels[level]) {
        if (cursor_.IsOp(candidate)) op = candidate;
      }
      if (op.empty()) return left;
      cursor_.Take();
      ASSIGN_OR_RETURN(ExprPtr right, Level(level + 1));
      left = Binary(op, std::move(left), std::move(right));
    }
  }
  ParsedExpr Sum() { return Level(0); }

  ParsedExpr Unary() {
    ExprPtr expr;
    if (cursor_.IsOp("-") || cursor_.IsOp("+")) {
      RETURN_IF_ERROR(cursor_.Enter());
      expr = Make(Expr::kUnary, cursor_.Take().text);
      ASSIGN_OR_RETURN(ExprPtr kid, Unary());
      expr->kids.push_back(std::move(kid));
      cursor_.Leave();
    } else {
      ASSIGN_OR_RETURN(expr, Primary());
    }
    while (true) {
      if (cursor_.IsOp(".") || cursor_.IsOp("[") || cursor_.IsOp("(")) {
        ASSIGN_OR_RETURN(expr, Postfix(std::move(expr)));
      } else if (cursor_.TakeOp("|")) {
        ASSIGN_OR_RETURN(expr, Applied(Expr::kFilter, std::move(expr)));
      } else if (cursor_.TakeName("is")) {
        const bool negated = cursor_.TakeName("not");
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

  // Parses a filter or test after its sign: a name and perhaps arguments.
  ParsedExpr Applied(Expr::Kind kind, ExprPtr to) {
    ASSIGN_OR_RETURN(std::string name, cursor_.ExpectName());
    ExprPtr expr = Make(kind, std::move(name));
    expr->kids.push_back(std::move(to));
    if (cursor_.TakeOp("(")) {
      RETURN_IF_ERROR(Arguments(expr.get()));
    } else if (kind == Expr::kTest &&
               (cursor_.Peek().kind == Token::kString || cursor_.Peek().kind == Token::kInt)) {
      ASSIGN_OR_RETURN(ExprPtr argument, Primary());  // "x is divisibleby 3" comes here.
      expr->kids.push_back(std::move(argument));
      expr->names.emplace_back();
    }
    return expr;
  }

  ParsedExpr Postfix(ExprPtr of) {
    if (cursor_.TakeOp("(")) {
      ExprPtr call = Make(Expr::kCall);
      call->kids.push_back(std::move(of));
      RETURN_IF_ERROR(Arguments(call.get()));
      return call;
    }
    if (cursor_.TakeOp(".")) {
      ASSIGN_OR_RETURN(std::string name, cursor_.ExpectName());
      ExprPtr attribute = Make(Expr::kAttribute, std::move(name));
      attribute->kids.push_back(std::move(of));
      return attribute;
    }
    RETURN_IF_ERROR(cursor_.ExpectOp("["));
    std::vector<ExprPtr> bounds;
    bool slice = false;
    while (!cursor_.IsOp("]")) {
      if (cursor_.IsOp(":")) {
        bounds.push_back(Literal(Value::None()));
      } else {
        ASSIGN_OR_RETURN(ExprPtr bound, Expression());
        bounds.push_back(std::move(bound));
      }
      if (!cursor_.TakeOp(":")) break;
      slice = true;
    }
    RETURN_IF_ERROR(cursor_.ExpectOp("]"));
    ExprPtr expr = Make(slice ? Expr::kSlice : Expr::kIndex);
    expr->kids.push_back(std::move(of));
    for (ExprPtr& bound : bounds) expr->kids.push_back(std::move(bound));
    if (slice) {
      while (expr->kids.size() < 4) expr->kids.push_back(Literal(Value::None()));
    }
    if (expr->kids.size() != (slice ? 4u : 2u)) return cursor_.Fail("bad index");
    return expr;
  }

  // Parses what follows "(": arguments and ")". kids[0] is there already; names[i] belongs to
  // kids[i + 1].
  absl::Status Arguments(Expr* call) {
    while (!cursor_.IsOp(")")) {
      std::string name;
      if (cursor_.Peek().kind == Token::kName && cursor_.Peek(1).kind == Token::kOperator &&
          cursor_.Peek(1).text == "=") {
        name = cursor_.Peek().text;
        cursor_.Take();
        cursor_.Take();
      }
      ASSIGN_OR_RETURN(ExprPtr argument, Expression());
      call->kids.push_back(std::move(argument));
      call->names.push_back(std::move(name));
      if (!cursor_.TakeOp(",")) break;
    }
    return cursor_.ExpectOp(")");
  }

  ParsedExpr Primary() {
    const Token token = cursor_.Peek();
    switch (token.kind) {
      case Token::kString: {
        std::string text;
        while (cursor_.Peek().kind == Token::kString)
          text += cursor_.Take().text;  // Neighbours join.
        return Literal(Value::Of(std::move(text)));
      }
      case Token::kInt:
        cursor_.Take();
        return Literal(
            Value::Of(static_cast<int64_t>(std::strtoll(token.text.c_str(), nullptr, 10))));
      case Token::kFloat:
        cursor_.Take();
        return Literal(Value::Of(std::strtod(token.text.c_str(), nullptr)));
      case Token::kName:
        cursor_.Take();
        if (token.text == "true" || token.text == "True") return Literal(Value::Of(true));
        if (token.text == "false" || token.text == "False") return Literal(Value::Of(false));
        if (token.text == "none" || token.text == "None") return Literal(Value::None());
        return Make(Expr::kName, token.text);
      default:
        break;
    }
    if (cursor_.TakeOp("(")) return Items(Expr::kList, ")", /*may_be_single=*/true);
    if (cursor_.TakeOp("[")) return Items(Expr::kList, "]", /*may_be_single=*/false);
    if (cursor_.TakeOp("{")) {
      ExprPtr dict = Make(Expr::kDict);
      while (!cursor_.IsOp("}")) {
        ASSIGN_OR_RETURN(ExprPtr key, Expression());
        RETURN_IF_ERROR(cursor_.ExpectOp(":"));
        ASSIGN_OR_RETURN(ExprPtr value, Expression());
        dict->kids.push_back(std::move(key));
        dict->kids.push_back(std::move(value));
        if (!cursor_.TakeOp(",")) break;
      }
      RETURN_IF_ERROR(cursor_.ExpectOp("}"));
      return dict;
    }
    return cursor_.Fail(absl::StrCat("expected a value, found '", token.text, "'"));
  }

  // Parses a list or tuple after its bracket; "(x)" is x itself.
  ParsedExpr Items(Expr::Kind kind, absl::string_view close, bool may_be_single) {
    ExprPtr list = Make(kind);
    bool comma = false;
    while (!cursor_.IsOp(close)) {
      ASSIGN_OR_RETURN(ExprPtr item, Expression());
      list->kids.push_back(std::move(item));
      if (!cursor_.TakeOp(",")) break;
      comma = true;
    }
    RETURN_IF_ERROR(cursor_.ExpectOp(close));
    if (may_be_single && !comma && list->kids.size() == 1) return std::move(list->kids[0]);
    return list;
  }

  ExprPtr Make(Expr::Kind kind, std::string text = "") const {
    auto expr = std::make_unique<Expr>();
    expr->kind = kind;
    expr->text = std::move(text);
    expr->line = cursor_.Peek().line;
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

  TokenCursor& cursor_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Expr>> ParseExpression(TokenCursor* cursor) {
  return ExpressionParser(cursor).Expression();
}

absl::StatusOr<std::unique_ptr<Expr>> ParseUnconditional(TokenCursor* cursor) {
  return ExpressionParser(cursor).Or();
}

}  // namespace whetstone::jinja
