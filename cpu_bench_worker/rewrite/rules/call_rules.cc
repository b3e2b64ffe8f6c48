// Over 400 lines: one inliner.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;
using clang::isa_and_nonnull;

// What stands for a variable of a helper; a plain text can be repeated.
struct Stand {
  std::string text;
  bool plain = false;
};
// What may be written in the places of all calls together: helpers of helpers double it again and
// again.
constexpr int kCallsMax = 64;
constexpr size_t kCharactersMax = 8000;
constexpr size_t kPlainMax = 200;  // of one value that stands for a parameter

using Stands = std::map<const clang::ValueDecl*, Stand>;

std::set<std::string> WordsOf(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      word += c;
    else
      words.insert(std::exchange(word, ""));
  }
  return words;
}

// Whether a statement ends with a block's brace.
bool EndsInBlock(const clang::Stmt* stmt) {
  if (const auto* loop = dyn_cast<clang::ForStmt>(stmt)) return EndsInBlock(loop->getBody());
  if (const auto* loop = dyn_cast<clang::WhileStmt>(stmt)) return EndsInBlock(loop->getBody());
  if (const auto* branch = dyn_cast<clang::IfStmt>(stmt))
    return EndsInBlock(branch->getElse() != nullptr ? branch->getElse() : branch->getThen());
  return isa<clang::CompoundStmt>(stmt);
}

// Text of an expression between ? and :.
std::string Chosen(const clang::Expr* expression, const std::string& text) {
  return IsClosed(expression) ? text : "(" + text + ")";
}

// Whether not all of what a helper returns is always computed.
bool LeavesOut(const Helper& helper) {
  const std::vector<const clang::Stmt*> parts = Below(helper.value);
  return !helper.guards.empty() ||
         std::any_of(parts.begin(), parts.end(), [](const clang::Stmt* each) {
           const auto* binary = dyn_cast<clang::BinaryOperator>(each);
           return isa<clang::ConditionalOperator>(each) ||
                  (binary != nullptr && binary->isLogicalOp());
         });
}

// Inliner puts helpers in the place of their calls.
class Inliner {
 public:
  explicit Inliner(const FunctionCode& code);

  // Adds edits of the statements of a block, or the one there is. `place`: declarations can stand
  // before each.
  void Inside(const clang::Stmt* block, bool place, Edits* edits);
  // Adds edits that take out the helpers nobody names any more.
  void TakeOut(Edits* edits) const;

 private:
  void Gather(const clang::Stmt* stmt);
  const Helper* HelperOf(const clang::CallExpr* call) const;
  std::string Fresh(const std::string& name);
  bool IsPlain(const clang::Expr* expression, const Stands& stands) const;
  bool NeedsVariable(const Helper& helper, const clang::ParmVarDecl* parameter,
                     const clang::Expr* given, const Stands& stands) const;
  std::string Statement(const clang::Stmt* stmt, bool place);
  void Expression(const clang::Stmt* stmt, const clang::Stmt* around, const Stands& stands,
                  std::string* before, Edits* edits);
  std::string Text(const clang::Stmt* stmt, const clang::Stmt* around, const Stands& stands,
                   std::string* before);
  Stand AsVariable(const Helper& helper, const clang::ParmVarDecl* parameter,
                   const clang::Expr* given, const Stands& stands, std::string* before);
  Stand Itself(const clang::ParmVarDecl* parameter, const clang::Expr* given, const Stands& stands,
               std::string* before);
  bool CanPlace(const clang::CallExpr* call, const Helper& helper, const clang::Stmt* around,
                const Stands& stands, bool room) const;
  std::string Result(const clang::CallExpr* call, const Helper& helper, const clang::Stmt* around,
                     std::string value) const;
  std::string Typed(const clang::CallExpr* call, const clang::Expr* value,
                    const std::string& text) const;
  std::optional<std::string> InPlaceOf(const clang::CallExpr* call, const clang::Stmt* around,
                                       const Stands& stands, std::string* before);

  const FunctionCode& code_;
  const std::string source_;
  const bool jumps_;             // to labels, over declarations
  std::set<std::string> names_;  // that mean something where helpers are put
  std::map<const clang::FunctionDecl*, Helper> helpers_;
  std::map<size_t, const clang::FunctionDecl*> placed_;  // by where they are defined
  int calls_ = 0;                                        // that were taken out
  size_t characters_ = 0;                                // that were written instead
};

Inliner::Inliner(const FunctionCode& code)
    : code_(code), source_(code.Source({})), jumps_(Has<clang::LabelStmt>(code.body())) {
  const size_t body = code.Begin(code.body());
  // The function's head has neither a semicolon nor a brace.
  const size_t before = source_.find_last_of(";}", body);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  names_ = WordsOf(source_.substr(begin, code.End(code.body()) - begin));
  Gather(code.body());
}

void Inliner::Gather(const clang::Stmt* stmt) {
  Variables own = Used(code_.body());
  own.merge(Declared(code_.body()));
  for (const clang::Stmt* each : Below(stmt)) {
    const auto* call = dyn_cast<clang::CallExpr>(each);
    const clang::FunctionDecl* definition = call == nullptr ? nullptr : WrittenHere(code_, call);
    if (definition == nullptr || helpers_.count(definition->getCanonicalDecl()) > 0) continue;
    const std::optional<Helper> helper = AsHelper(code_, definition);
    if (!helper) continue;
    // What it names of the program must not be another variable in its new place.
    bool hidden = false;
    for (const clang::Stmt* part : Below(definition->getBody())) {
      const auto* name = dyn_cast<clang::DeclRefExpr>(part);
      if (name == nullptr || name->getDecl()->getDeclContext() == definition) continue;
      names_.insert(name->getDecl()->getNameAsString());
      for (const clang::VarDecl* variable : own)
        hidden |= variable != name->getDecl() &&
                  variable->getNameAsString() == name->getDecl()->getNameAsString();
    }
    if (hidden) continue;
    helpers_.emplace(definition->getCanonicalDecl(), *helper);
    Gather(definition->getBody());
  }
}

const Helper* Inliner::HelperOf(const clang::CallExpr* call) const {
  const clang::FunctionDecl* callee = call->getDirectCallee();
  if (callee == nullptr || call->getStmtClass() != clang::Stmt::CallExprClass ||
      call->getBeginLoc().isMacroID() || call->getRParenLoc().isMacroID() ||
      std::any_of(call->arg_begin(), call->arg_end(),
                  [](const clang::Expr* each) { return isa<clang::CXXDefaultArgExpr>(each); }))
    return nullptr;
  const auto it = helpers_.find(callee->getCanonicalDecl());
  return it == helpers_.end() ? nullptr : &it->second;
}

std::string Inliner::Fresh(const std::string& name) {
  std::string fresh = name.empty() ? "given" : name;
  for (int number = 2; names_.count(fresh) > 0 || (fresh != name && code_.Fresh({fresh}) != fresh);
       ++number)
    fresh = name + std::to_string(number);
  names_.insert(fresh);
  return fresh;
}

// Whether it costs nothing and does nothing to compute an expression twice.
bool Inliner::IsPlain(const clang::Expr* expression, const Stands& stands) const {
  const clang::Expr* bare = AsWritten(expression);
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(bare)) {
    const auto it = stands.find(name->getDecl());
    return it == stands.end() || it->second.plain;
  }
  if (const auto* member = dyn_cast<clang::MemberExpr>(bare))
    return IsPlain(member->getBase(), stands);
  if (const auto* cast = dyn_cast<clang::ExplicitCastExpr>(bare))
    return cast->getType()->isArithmeticType() && IsPlain(cast->getSubExpr(), stands);
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(bare))
    return (unary->getOpcode() == clang::UO_Deref || unary->getOpcode() == clang::UO_Minus) &&
           IsPlain(unary->getSubExpr(), stands);
  if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(bare)) {
    for (const clang::Stmt* each : Below(element->getIdx()))
      if (isa<clang::DeclRefExpr>(each) && !IsPlain(llvm::cast<clang::Expr>(each), stands))
        return false;
    return IsPlain(element->getBase(), stands) && !CallsOrAssigns(element->getIdx());
  }
  const auto* of_container = dyn_cast<clang::CXXOperatorCallExpr>(bare);
  if (of_container != nullptr && of_container->getOperator() == clang::OO_Subscript)
    return IsPlain(of_container->getArg(0), stands) && IsPlain(of_container->getArg(1), stands);
  return isa<clang::IntegerLiteral, clang::FloatingLiteral, clang::CharacterLiteral,
             clang::CXXBoolLiteralExpr>(bare);
}

// Whether a parameter becomes a variable with its first value; else that value stands for it.
bool Inliner::NeedsVariable(const Helper& helper, const clang::ParmVarDecl* parameter,
                            const clang::Expr* given, const Stands& stands) const {
  const clang::Stmt* body = helper.definition->getBody();
  const clang::QualType type = parameter->getType();
  const clang::QualType to = PlainType(type);
  const clang::QualType from = PlainType(AsWritten(given)->getType());
  const bool pointers =
      to->isPointerType() && (from->isPointerType() || from->isArrayType()) &&
      PlainType(to->getPointeeType()) ==
          PlainType(from->isPointerType() ? from->getPointeeType()
                                          : code_.context().getAsArrayType(from)->getElementType());
  const bool numbers =
      to->isArithmeticType() && from->isArithmeticType() &&
      (!type->isReferenceType() || to == from || type->getPointeeType().isConstQualified());
  if (to != from && !pointers && !numbers) return true;
  if (code_.Text(given).substr(0, 1) == "{") return true;
  if (!IsPlain(given, stands) && CallsOrAssigns(given) && LeavesOut(helper)) return true;
  if (!type->isReferenceType() && !type.isConstQualified() && !OnlyRead(body, parameter))
    return true;
  if (!IsPlain(given, stands)) {
    const int mentions = Mentions(body, parameter);
    return mentions == 0 ? CallsOrAssigns(given) : mentions > 1 || !helper.first.empty();
  }
  if (type->isReferenceType() || helper.quiet) return false;
  if (Used(given).empty() && !NamesBinding(given)) return false;
  // What it assigns could be what it was given.
  const clang::VarDecl* name = NamedVariable(given);
  return name == nullptr || !name->hasLocalStorage() ||
         std::any_of(helper.definition->param_begin(), helper.definition->param_end(),
                     [&](const clang::ParmVarDecl* each) {
                       return each->getType()->isReferenceType() &&
                              !each->getType()->getPointeeType().isConstQualified() &&
                              PlainType(each->getType()) == from;
                     });
}

void Inliner::Inside(const clang::Stmt* block, bool place, Edits* edits) {
  for (const clang::Stmt* each : StatementsOf(block)) {
    const std::string text = Statement(each, place);
    if (text != code_.Text(each)) edits->push_back(code_.Instead(each, text));
  }
}

// The statement with helpers in it, behind the declarations they need.
std::string Inliner::Statement(const clang::Stmt* stmt, bool place) {
  Edits edits;
  std::string before;
  std::string* room = place && !jumps_ ? &before : nullptr;
  const auto head = [&](const clang::Stmt* part, std::string* declared) {
    Expression(part, stmt, {}, declared, &edits);
  };
  if (isa<clang::CompoundStmt>(stmt)) {
    Inside(stmt, true, &edits);
  } else if (const auto* loop = dyn_cast<clang::ForStmt>(stmt)) {
    head(loop->getInit(), nullptr);
    if (loop->getConditionVariable() == nullptr) head(loop->getCond(), nullptr);
    head(loop->getInc(), nullptr);
    Inside(loop->getBody(), true, &edits);
  } else if (const auto* loop = dyn_cast<clang::WhileStmt>(stmt)) {
    if (loop->getConditionVariable() == nullptr) head(loop->getCond(), nullptr);
    Inside(loop->getBody(), true, &edits);
  } else if (const auto* loop = dyn_cast<clang::DoStmt>(stmt)) {
    head(loop->getCond(), nullptr);
    Inside(loop->getBody(), true, &edits);
  } else if (const auto* loop = dyn_cast<clang::CXXForRangeStmt>(stmt)) {
    Inside(loop->getBody(), true, &edits);
  } else if (const clang::IfStmt* branch = AsPlainIf(stmt)) {
    head(branch->getCond(), room);
    Inside(branch->getThen(), true, &edits);
    // `else if` goes on without braces.
    const clang::Stmt* otherwise = branch->getElse();
    if (isa_and_nonnull<clang::IfStmt>(otherwise))
      edits.push_back({code_.Begin(otherwise), code_.End(otherwise), Statement(otherwise, false)});
    else
      Inside(otherwise, true, &edits);
  } else if (const auto* choice = dyn_cast<clang::SwitchStmt>(stmt)) {
    if (choice->getInit() == nullptr && choice->getConditionVariable() == nullptr)
      head(choice->getCond(), room);
    // No case may jump over a declaration.
    Inside(choice->getBody(), false, &edits);
  } else if (const auto* label = dyn_cast<clang::SwitchCase>(stmt)) {
    if (!isa<clang::DeclStmt>(label->getSubStmt())) Inside(label->getSubStmt(), true, &edits);
  } else if (const auto* declaration = dyn_cast<clang::DeclStmt>(stmt)) {
    const auto* variable = declaration->isSingleDecl()
                               ? dyn_cast<clang::VarDecl>(declaration->getSingleDecl())
                               : nullptr;
    const bool free = variable != nullptr && !variable->isConstexpr() && !variable->isStaticLocal();
    head(stmt, free ? room : nullptr);
  } else if (isa<clang::ReturnStmt>(stmt)) {
    head(stmt, room);
  } else if (isa<clang::Expr>(stmt)) {
    Expression(stmt, code_.Parent(stmt), {}, room, &edits);
  }
  return before + code_.Text(stmt, edits);
}

// Adds edits that put helpers in the place of their calls below `stmt`, which is a part of
// `around`, and for variables what stands for them; what they need declared goes to `before`. Null:
// nothing can be declared.
void Inliner::Expression(const clang::Stmt* stmt, const clang::Stmt* around, const Stands& stands,
                         std::string* before, Edits* edits) {
  if (stmt == nullptr || isa<clang::LambdaExpr, clang::BinaryConditionalOperator>(stmt)) return;
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(stmt)) {
    const auto it = stands.find(name->getDecl());
    const size_t at = code_.Begin(name);
    if (it != stands.end())
      edits->push_back({at, at + name->getDecl()->getNameAsString().size(), it->second.text});
  }
  if (const auto* call = dyn_cast<clang::CallExpr>(stmt))
    if (const std::optional<std::string> text = InPlaceOf(call, around, stands, before)) {
      edits->push_back({code_.Begin(call), code_.At(call->getRParenLoc()) + 1, *text});
      return;
    }
  const auto* binary = dyn_cast<clang::BinaryOperator>(stmt);
  const bool chooses =
      isa<clang::ConditionalOperator>(stmt) || (binary != nullptr && binary->isLogicalOp());
  const bool written =
      !isa<clang::ImplicitCastExpr, clang::FullExpr, clang::MaterializeTemporaryExpr>(stmt);
  std::string* room = before;
  for (const clang::Stmt* child : stmt->children()) {
    Expression(child, written ? stmt : around, stands, room, edits);
    // What is not always computed cannot be computed before.
    if (chooses) room = nullptr;
  }
}

std::string Inliner::Text(const clang::Stmt* stmt, const clang::Stmt* around, const Stands& stands,
                          std::string* before) {
  Edits edits;
  Expression(stmt, around, stands, before, &edits);
  return code_.Text(stmt, edits);
}

// A variable, declared in `before`, that stands for a parameter.
Stand Inliner::AsVariable(const Helper& helper, const clang::ParmVarDecl* parameter,
                          const clang::Expr* given, const Stands& stands, std::string* before) {
  const clang::QualType type = parameter->getType();
  const std::string value = Text(given, helper.definition->getBody(), stands, before);
  const std::string name = Fresh(parameter->getNameAsString());
  const bool constant = !type->isReferenceType() && !type->isPointerType() &&
                        OnlyRead(helper.definition->getBody(), parameter);
  *before +=
      (constant ? "const " : "") + code_.Type(parameter) + " " + name + " = " + value + ";\n";
  return {name, true};
}

// The value that stands for a parameter, of its type.
Stand Inliner::Itself(const clang::ParmVarDecl* parameter, const clang::Expr* given,
                      const Stands& stands, std::string* before) {
  std::string text = Text(given, nullptr, stands, before);
  if (!IsClosed(given)) text = "(" + text + ")";
  const clang::QualType to = PlainType(parameter->getType());
  if (to->isArithmeticType() && to != PlainType(AsWritten(given)->getType()))
    text = "(" + to.getAsString(code_.context().getPrintingPolicy()) + ")" + text;
  // What is written again and again does not grow.
  return {text, IsPlain(given, stands) && text.size() <= kPlainMax};
}

// Whether the helper can stand in its call's place. `room`: something can be declared before it.
bool Inliner::CanPlace(const clang::CallExpr* call, const Helper& helper, const clang::Stmt* around,
                       const Stands& stands, bool room) const {
  if (calls_ >= kCallsMax || characters_ >= kCharactersMax) return false;
  if (helper.definition->getReturnType()->isVoidType() &&
      (around == nullptr || isa<clang::Expr, clang::ReturnStmt>(around)))
    return false;
  if (room) return true;
  if (!helper.first.empty()) return false;
  for (unsigned i = 0; i < call->getNumArgs(); ++i)
    if (NeedsVariable(helper, helper.definition->getParamDecl(i), call->getArg(i), stands))
      return false;
  return true;
}

// The text of what a helper returns, with the type and parentheses that its call's place needs.
std::string Inliner::Result(const clang::CallExpr* call, const Helper& helper,
                            const clang::Stmt* around, std::string value) const {
  const clang::QualType to = PlainType(call->getType());
  if (to->isVoidType()) return value;
  if (value.substr(0, 1) == "{") return code_.Type(call) + value;
  const auto* binary = dyn_cast<clang::BinaryOperator>(AsWritten(helper.value));
  const bool closed = IsClosed(helper.value);
  if (to->isScalarType() && to != PlainType(AsWritten(helper.value)->getType())) {
    value = "(" + code_.Type(call) + ")" + (closed ? value : "(" + value + ")");
    return to->isPointerType() ? "(" + value + ")" : value;
  }
  const bool apart =
      StandsApart(call, around) && (binary == nullptr || binary->getOpcode() != clang::BO_Comma);
  return closed || apart ? value : "(" + value + ")";
}

// A value among those that are chosen from, of the type that the call has.
std::string Inliner::Typed(const clang::CallExpr* call, const clang::Expr* value,
                           const std::string& text) const {
  const bool same = PlainType(call->getType()) == PlainType(AsWritten(value)->getType());
  return (same ? "" : "(" + code_.Type(call) + ")") + Chosen(value, text);
}

// The text that stands for a call; nothing where it cannot.
std::optional<std::string> Inliner::InPlaceOf(const clang::CallExpr* call,
                                              const clang::Stmt* around, const Stands& stands,
                                              std::string* before) {
  const Helper* helper = HelperOf(call);
  if (helper == nullptr || !CanPlace(call, *helper, around, stands, before != nullptr))
    return std::nullopt;
  ++calls_;
  const size_t others = characters_;
  const size_t declared = before == nullptr ? 0 : before->size();
  const clang::FunctionDecl* definition = helper->definition;
  const bool nothing = definition->getReturnType()->isVoidType();
  Stands own;
  for (unsigned i = 0; i < call->getNumArgs(); ++i) {
    const clang::ParmVarDecl* parameter = definition->getParamDecl(i);
    own[parameter] = NeedsVariable(*helper, parameter, call->getArg(i), stands)
                         ? AsVariable(*helper, parameter, call->getArg(i), stands, before)
                         : Itself(parameter, call->getArg(i), stands, before);
  }
  for (const clang::Stmt* stmt : helper->first) {
    Edits names;
    for (const clang::Stmt* each : Below(stmt)) {
      const auto* declaration = dyn_cast<clang::DeclStmt>(each);
      if (declaration == nullptr) continue;
      for (const clang::Decl* decl : declaration->decls()) {
        const auto* variable = llvm::cast<clang::VarDecl>(decl);
        if (variable->isImplicit()) continue;  // what a loop through a range has of its own
        own[variable] = {Fresh(variable->getNameAsString()), true};
        const size_t at = code_.At(variable->getLocation());
        names.push_back({at, at + variable->getName().size(), own[variable].text});
      }
    }
    // What a loop or condition needs cannot be declared before it.
    std::string* room = isa<clang::Expr, clang::DeclStmt>(stmt) ? before : nullptr;
    Expression(stmt, definition->getBody(), own, room, &names);
    const std::string text = code_.Text(stmt, names);
    *before += text + (text.back() == ';' || EndsInBlock(stmt) ? "\n" : ";\n");
  }
  std::string value;
  std::string* room = before;
  for (const auto& [condition, chosen] : helper->guards) {
    value += Chosen(condition, Text(condition, nullptr, own, std::exchange(room, nullptr))) + " ? ";
    value += Typed(call, chosen, Text(chosen, nullptr, own, nullptr)) + " : ";
  }
  const std::string last =
      helper->value == nullptr
          ? ""
          : Text(helper->value, nothing ? definition->getBody() : nullptr, own, room);
  value += helper->guards.empty() ? last : Typed(call, helper->value, last);
  placed_[code_.At(definition->getBeginLoc())] = definition;
  // The helpers in this one are a part of its text.
  const size_t written = value.size() + (before == nullptr ? 0 : before->size() - declared);
  characters_ = std::max(characters_, others + written);
  if (!helper->guards.empty()) return "(" + value + ")";
  return Result(call, *helper, around, value);
}

void Inliner::TakeOut(Edits* edits) const {
  // One may be named by another below it, which goes first.
  for (auto it = placed_.rbegin(); it != placed_.rend(); ++it) {
    const clang::FunctionDecl* definition = it->second;
    if ((definition->isExternallyVisible() && !definition->isInlined()) ||
        !definition->getLexicalDeclContext()->isFileContext())
      continue;
    Edit out{it->first, code_.At(definition->getEndLoc()) + 1, ""};
    if (std::any_of(definition->attr_begin(), definition->attr_end(), [&](const clang::Attr* each) {
          return each->getLocation().isValid() && code_.At(each->getLocation()) < out.begin;
        }))
      continue;
    while (out.end < source_.size() && std::isspace(static_cast<unsigned char>(source_[out.end])))
      ++out.end;
    // Lines of comment on top of it go with it.
    while (out.begin > 1 && source_[out.begin - 1] == '\n') {
      const size_t line = source_.rfind('\n', out.begin - 2) + 1;
      if (source_.substr(line, 2) != "//") break;
      out.begin = line;
    }
    Edits all = *edits;
    all.push_back(out);
    if (WordsOf(code_.Source(all)).count(definition->getNameAsString()) > 0) continue;
    *edits = std::move(all);
  }
}

}  // namespace

void InlineCalls(const FunctionCode& code, Rewrites* rewrites) {
  Inliner inliner(code);
  Edits edits;
  inliner.Inside(code.body(), true, &edits);
  if (edits.empty()) return;
  inliner.TakeOut(&edits);
  rewrites->push_back({"a function in its place", code.Source(edits)});
}

}  // namespace whetstone
