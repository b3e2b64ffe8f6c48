#include "cpu_bench_worker/rewrite/analysis/function_code.h"

#include <algorithm>
#include <cctype>

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;

const clang::Expr* Bare(const clang::Expr* expression) { return expression->IgnoreParenImpCasts(); }

// Whether `step` adds one to `var`.
bool CountsUp(const clang::Expr* step, const clang::VarDecl* var) {
  if (const auto* unary = dyn_cast_or_null<clang::UnaryOperator>(step))
    return unary->isIncrementOp() && NamedVariable(unary->getSubExpr()) == var;
  const auto* sum = dyn_cast_or_null<clang::BinaryOperator>(step);
  if (sum == nullptr || sum->getOpcode() != clang::BO_AddAssign) return false;
  const auto* one = dyn_cast<clang::IntegerLiteral>(Bare(sum->getRHS()));
  return NamedVariable(sum->getLHS()) == var && one != nullptr && one->getValue() == 1;
}

std::optional<Loop> AsLoop(const clang::Stmt* stmt) {
  const auto* loop = dyn_cast<clang::ForStmt>(stmt);
  if (loop == nullptr) return std::nullopt;
  const auto* init = dyn_cast_or_null<clang::DeclStmt>(loop->getInit());
  if (init == nullptr || !init->isSingleDecl()) return std::nullopt;
  const auto* var = dyn_cast<clang::VarDecl>(init->getSingleDecl());
  if (var == nullptr || var->getInit() == nullptr || !var->getType()->isIntegerType())
    return std::nullopt;
  // A bound of temporaries (std::min) has their end around the comparison.
  const clang::Expr* condition = loop->getCond();
  const auto* test =
      condition == nullptr ? nullptr : dyn_cast<clang::BinaryOperator>(condition->IgnoreImplicit());
  if (test == nullptr || NamedVariable(test->getLHS()) != var) return std::nullopt;
  if (test->getOpcode() != clang::BO_LT && test->getOpcode() != clang::BO_LE) return std::nullopt;
  if (!CountsUp(loop->getInc(), var) || Changed(loop->getBody()).count(var) > 0)
    return std::nullopt;
  if (Share(Used(test->getRHS()), Changed(loop->getBody()))) return std::nullopt;
  return Loop{.stmt = loop,
              .var = var,
              .first = var->getInit(),
              .last = test->getRHS(),
              .inclusive = test->getOpcode() == clang::BO_LE,
              .body = StatementsOf(loop->getBody())};
}

// Whether a text needs no parentheses anywhere: a name, a number, an element of an array.
bool IsSimple(const std::string& text) {
  int depth = 0;
  return std::all_of(text.begin(), text.end(), [&](unsigned char c) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    return depth > 0 || std::isalnum(c) || c == '_' || c == ']' || c == '.';
  });
}

}  // namespace

std::vector<const clang::Stmt*> Below(const clang::Stmt* stmt) {
  std::vector<const clang::Stmt*> found;
  if (stmt == nullptr) return found;
  found.push_back(stmt);
  if (isa<clang::LambdaExpr>(stmt)) return found;
  for (const clang::Stmt* child : stmt->children()) {
    const std::vector<const clang::Stmt*> inner = Below(child);
    found.insert(found.end(), inner.begin(), inner.end());
  }
  return found;
}

bool HasLoop(const clang::Stmt* stmt) {
  const std::vector<const clang::Stmt*> parts = Below(stmt);
  return std::any_of(parts.begin(), parts.end(), IsLoop);
}

std::vector<const clang::Stmt*> StatementsOf(const clang::Stmt* stmt) {
  const auto* block = dyn_cast_or_null<clang::CompoundStmt>(stmt);
  if (block == nullptr)
    return stmt == nullptr ? std::vector<const clang::Stmt*>{} : std::vector{stmt};
  return {block->body_begin(), block->body_end()};
}

const clang::VarDecl* NamedVariable(const clang::Stmt* expression) {
  const auto* value = dyn_cast_or_null<clang::Expr>(expression);
  if (value == nullptr) return nullptr;
  const auto* name = dyn_cast<clang::DeclRefExpr>(Bare(value));
  return name == nullptr ? nullptr : dyn_cast<clang::VarDecl>(name->getDecl());
}

Variables Used(const clang::Stmt* stmt) {
  Variables found;
  for (const clang::Stmt* each : Below(stmt))
    if (isa<clang::DeclRefExpr>(each))
      if (const clang::VarDecl* variable = NamedVariable(each)) found.insert(variable);
  return found;
}

Variables Changed(const clang::Stmt* stmt) {
  Variables found;
  for (const clang::Stmt* each : Below(stmt)) {
    const clang::Expr* target = nullptr;
    if (const auto* binary = dyn_cast<clang::BinaryOperator>(each))
      target = binary->isAssignmentOp() ? binary->getLHS() : nullptr;
    if (const auto* unary = dyn_cast<clang::UnaryOperator>(each))
      target = unary->isIncrementDecrementOp() || unary->getOpcode() == clang::UO_AddrOf
                   ? unary->getSubExpr()
                   : nullptr;
    if (const clang::VarDecl* variable = NamedVariable(target)) found.insert(variable);
  }
  return found;
}

Variables Declared(const clang::Stmt* stmt) {
  Variables found;
  for (const clang::Stmt* each : Below(stmt))
    if (const auto* declaration = dyn_cast<clang::DeclStmt>(each))
      for (const clang::Decl* decl : declaration->decls())
        if (const auto* variable = dyn_cast<clang::VarDecl>(decl)) found.insert(variable);
  return found;
}

Variables ChangedOrDeclared(const clang::Stmt* stmt) {
  Variables found = Changed(stmt);
  found.merge(Declared(stmt));
  return found;
}

Variables ChangedOutside(const clang::Stmt* stmt) {
  Variables found = Changed(stmt);
  for (const clang::VarDecl* own : Declared(stmt)) found.erase(own);
  return found;
}

bool Share(const Variables& left, const Variables& right) {
  return std::any_of(left.begin(), left.end(),
                     [&](const clang::VarDecl* each) { return right.count(each) > 0; });
}

int Mentions(const clang::Stmt* stmt, const clang::VarDecl* variable) {
  int count = 0;
  for (const clang::Stmt* each : Below(stmt))
    if (const auto* name = dyn_cast<clang::DeclRefExpr>(each))
      count += name->getDecl() == variable ? 1 : 0;
  return count;
}

void Override(Edits* edits, const Edit& edit) {
  std::erase_if(*edits,
                [&](const Edit& each) { return each.begin >= edit.begin && each.end <= edit.end; });
  edits->push_back(edit);
}

FunctionCode::FunctionCode(clang::ASTContext* context, const clang::FunctionDecl* function,
                           std::map<std::string, std::string> lengths)
    : context_(context), function_(function), lengths_(std::move(lengths)) {
  const clang::SourceManager& sources = context->getSourceManager();
  source_ = sources.getBufferData(sources.getMainFileID()).str();
  Visit(function->getBody());
}

void FunctionCode::Visit(const clang::Stmt* stmt) {
  if (std::optional<Loop> loop = AsLoop(stmt)) loops_.push_back(*std::move(loop));
  if (isa<clang::LambdaExpr>(stmt)) return;
  for (const clang::Stmt* child : stmt->children()) {
    if (child == nullptr) continue;
    parents_[child] = stmt;
    Visit(child);
  }
}

const Loop* FunctionCode::LoopOf(const clang::Stmt* stmt) const {
  for (const Loop& loop : loops_)
    if (loop.stmt == stmt) return &loop;
  return nullptr;
}

const Loop* FunctionCode::OnlyLoopIn(const Loop& loop) const {
  return loop.body.size() == 1 ? LoopOf(loop.body[0]) : nullptr;
}

const clang::Stmt* FunctionCode::Parent(const clang::Stmt* stmt) const {
  const auto it = parents_.find(stmt);
  return it == parents_.end() ? nullptr : it->second;
}

const Loop* FunctionCode::LoopAround(const clang::Stmt* stmt) const {
  const clang::Stmt* around = Parent(stmt);
  while (around != nullptr && !IsLoop(around)) around = Parent(around);
  return around == nullptr ? nullptr : LoopOf(around);
}

bool FunctionCode::IsWithin(const clang::Stmt* part, const clang::Stmt* whole) const {
  return Begin(part) >= Begin(whole) && End(part) <= End(whole);
}

size_t FunctionCode::At(clang::SourceLocation location) const {
  const clang::SourceManager& sources = context_->getSourceManager();
  return sources.getFileOffset(sources.getExpansionLoc(location));
}

size_t FunctionCode::Begin(const clang::Stmt* stmt) const { return At(stmt->getBeginLoc()); }

size_t FunctionCode::End(const clang::Stmt* stmt) const {
  const clang::SourceManager& sources = context_->getSourceManager();
  const clang::SourceLocation last = sources.getExpansionRange(stmt->getEndLoc()).getEnd();
  size_t end = sources.getFileOffset(last) +
               clang::Lexer::MeasureTokenLength(last, sources, context_->getLangOpts());
  const clang::Stmt* parent = Parent(stmt);
  // The semicolon of `return x;` is not the expression's either.
  const bool statement = !(isa<clang::Expr>(stmt) && dyn_cast_or_null<clang::ReturnStmt>(parent)) &&
                         parent != nullptr &&
                         (!isa<clang::Expr>(stmt) || !isa<clang::Expr>(parent)) &&
                         !isa<clang::DeclStmt>(parent);
  // The parts of a loop's head are statements too, whose semicolons belong to the head.
  const auto* around = dyn_cast_or_null<clang::ForStmt>(parent);
  const bool head = around != nullptr && around->getBody() != stmt;
  const std::optional<clang::Token> next =
      clang::Lexer::findNextToken(last, sources, context_->getLangOpts());
  if (statement && !head && next && next->is(clang::tok::semi))
    end = sources.getFileOffset(next->getLocation()) + 1;
  return end;
}

std::string FunctionCode::Text(const clang::Stmt* stmt, const Edits& edits) const {
  const size_t begin = Begin(stmt);
  const size_t end = End(stmt);
  Edits inside;
  for (const Edit& edit : edits)
    if (edit.begin >= begin && edit.end <= end) inside.push_back(edit);
  std::sort(inside.begin(), inside.end(),
            [](const Edit& left, const Edit& right) { return left.begin < right.begin; });
  std::string text;
  size_t at = begin;
  for (const Edit& edit : inside) {
    text += source_.substr(at, edit.begin - at) + edit.text;
    at = edit.end;
  }
  return text + source_.substr(at, end - at);
}

std::string FunctionCode::Text(const std::vector<const clang::Stmt*>& statements,
                               const Edits& edits) const {
  std::string text;
  for (const clang::Stmt* stmt : statements) text += Text(stmt, edits) + "\n";
  return text;
}

Edit FunctionCode::Instead(const clang::Stmt* stmt, const std::string& text) const {
  const clang::Stmt* parent = Parent(stmt);
  bool alone = false;
  if (const auto* loop = dyn_cast_or_null<clang::ForStmt>(parent)) alone = loop->getBody() == stmt;
  if (const auto* loop = dyn_cast_or_null<clang::WhileStmt>(parent))
    alone = loop->getBody() == stmt;
  if (const auto* loop = dyn_cast_or_null<clang::DoStmt>(parent)) alone = loop->getBody() == stmt;
  if (const auto* loop = dyn_cast_or_null<clang::CXXForRangeStmt>(parent))
    alone = loop->getBody() == stmt;
  if (const auto* label = dyn_cast_or_null<clang::SwitchCase>(parent))
    alone = label->getSubStmt() == stmt;
  if (const auto* branch = dyn_cast_or_null<clang::IfStmt>(parent))
    alone = branch->getThen() == stmt || branch->getElse() == stmt;
  return {Begin(stmt), End(stmt), alone ? "{\n" + text + "\n}" : text};
}

Edit FunctionCode::WithOwn(const clang::Stmt* stmt, const std::string& text) const {
  const clang::Stmt* around = Parent(stmt);
  const bool jumps = (isa<clang::CompoundStmt>(around) &&
                      llvm::isa_and_nonnull<clang::SwitchStmt>(Parent(around))) ||
                     Has<clang::LabelStmt>(body());
  return Instead(stmt, jumps ? "{\n" + text + "\n}" : text);
}

std::string FunctionCode::Source(Edits edits) const {
  std::sort(edits.begin(), edits.end(),
            [](const Edit& left, const Edit& right) { return left.begin > right.begin; });
  std::string source = source_;
  for (const Edit& edit : edits) source.replace(edit.begin, edit.end - edit.begin, edit.text);
  return source;
}

std::string FunctionCode::Operand(const clang::Expr* expression) const {
  const std::string text = Text(expression);
  return IsSimple(text) || isa<clang::ParenExpr>(expression) ? text : "(" + text + ")";
}

std::string FunctionCode::Bound(const Loop& loop) const {
  if (loop.inclusive) return Operand(loop.last) + " + 1";
  const auto* sum = dyn_cast<clang::BinaryOperator>(Bare(loop.last));
  const bool sums = sum != nullptr && (sum->isAdditiveOp() || sum->isMultiplicativeOp());
  return sums ? Text(loop.last) : Operand(loop.last);
}

std::string FunctionCode::Type(const clang::ValueDecl* variable) const {
  return Type(variable->getType());
}

std::string FunctionCode::Type(const clang::Expr* expression) const {
  return Type(expression->getType());
}

std::string FunctionCode::Type(clang::QualType type) const {
  // Without the language's policy bool is "_Bool".
  return type.getUnqualifiedType().getAsString(context_->getPrintingPolicy());
}

std::string FunctionCode::Head(const Loop& loop) const {
  const std::string name = loop.var->getNameAsString();
  return "for (" + Type(loop.var) + " " + name + " = " + Text(loop.first) + "; " + name +
         (loop.inclusive ? " <= " : " < ") + Text(loop.last) + "; " + name + "++)";
}

std::string FunctionCode::InGroups(const Loop& loop, int count, const std::string& body) const {
  const std::string name = loop.var->getNameAsString();
  const std::string size = std::to_string(count);
  const std::string bound = Bound(loop);
  return Type(loop.var) + " " + name + " = " + Text(loop.first) + ";\nfor (; " + name + " + " +
         size + " <= " + bound + "; " + name + " += " + size + ") {\n" + body + "}\nfor (; " +
         name + " < " + bound + "; " + name + "++) {\n" + Text(loop.body, {}) + "}";
}

std::string FunctionCode::InParts(const Loop& loop, int64_t turns, const std::string& from,
                                  const std::string& until, const std::string& body) const {
  const std::string type = Type(loop.var);
  const std::string size = std::to_string(turns);
  const std::string bound = Bound(loop);
  return "for (" + type + " " + from + " = " + Text(loop.first) + "; " + from + " < " + bound +
         "; " + from + " += " + size + ") {\nconst " + type + " " + until + " = " + bound + " - " +
         from + " < " + size + " ? " + bound + " : " + from + " + " + size + ";\n" + body + "}";
}

void FunctionCode::Replace(const clang::Stmt* stmt, const clang::VarDecl* variable,
                           const std::string& text, Edits* edits) const {
  for (const clang::Stmt* each : Below(stmt)) {
    const auto* name = dyn_cast<clang::DeclRefExpr>(each);
    if (name == nullptr || name->getDecl() != variable) continue;
    const clang::Stmt* parent = Parent(each);
    while (parent != nullptr && isa<clang::ImplicitCastExpr>(parent)) parent = Parent(parent);
    const auto* binary = dyn_cast_or_null<clang::BinaryOperator>(parent);
    const bool alone =
        IsSimple(text) || dyn_cast_or_null<clang::ArraySubscriptExpr>(parent) ||
        dyn_cast_or_null<clang::ParenExpr>(parent) ||
        (binary != nullptr && (binary->getOpcode() == clang::BO_Add || binary->isRelationalOp() ||
                               binary->isAssignmentOp()));
    edits->push_back({Begin(each), Begin(each) + variable->getNameAsString().size(),
                      alone ? text : "(" + text + ")"});
  }
}

std::string FunctionCode::WithCounter(const Loop& loop, const std::string& text) const {
  for (const clang::VarDecl* other : Declared(body()))
    if (other != loop.var && other->getName() == loop.var->getName()) return "{\n" + text + "\n}";
  return text;
}

std::string FunctionCode::Fresh(const std::vector<std::string>& names) const {
  const auto used = [&](const std::string& name) {
    const auto word = [&](size_t i) {
      return i < source_.size() &&
             (std::isalnum(static_cast<unsigned char>(source_[i])) || source_[i] == '_');
    };
    for (size_t at = source_.find(name); at != std::string::npos; at = source_.find(name, at + 1))
      if (!(at > 0 && word(at - 1)) && !word(at + name.size())) return true;
    return false;
  };
  for (const std::string& name : names)
    if (!used(name)) return name;
  int number = 2;
  while (used(names.back() + std::to_string(number))) ++number;
  return names.back() + std::to_string(number);
}

std::optional<int64_t> FunctionCode::Constant(const clang::Expr* expression) const {
  clang::Expr::EvalResult value;
  if (expression->isValueDependent() || !expression->EvaluateAsInt(value, *context_) ||
      !value.Val.getInt().isRepresentableByInt64())
    return std::nullopt;
  return value.Val.getInt().getExtValue();
}

}  // namespace whetstone
