#include <utility>

#include "cpu_bench_worker/rewrite/conditions.h"
#include "cpu_bench_worker/rewrite/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;

// A loop whose every turn adds up what lies in a window that moves along with the counter.
struct MovingSum {
  size_t sum_begins = 0;         // the statement of the outer loop that is the sum
  const Loop* window = nullptr;  // the innermost loop of that statement
  std::vector<const clang::Stmt*> additions;
};

// Whether `stmt` only adds to variables that are declared in `sums`, and to which; it may do so
// under conditions.
bool OnlyAdds(const clang::Stmt* stmt, const Variables& sums,
              std::vector<const clang::Stmt*>* additions) {
  const Variables own = Declared(stmt);
  for (const clang::Stmt* each : Below(stmt)) {
    const std::optional<Assignment> assignment = AsAssignment(each);
    if (!assignment) continue;
    const clang::VarDecl* variable = NamedVariable(assignment->target);
    if (variable != nullptr && own.count(variable) > 0) continue;
    if (assignment->kind != clang::BO_AddAssign || variable == nullptr ||
        sums.count(variable) == 0 || Mentions(each, variable) != 1)
      return false;
    additions->push_back(each);
  }
  return !additions->empty();
}

// Whether `variable` is named in `expression`, and wherever it is, only added to something.
bool IsSummand(const FunctionCode& code, const clang::Expr* expression,
               const clang::VarDecl* variable) {
  for (const clang::Stmt* each : Below(expression)) {
    const auto* name = dyn_cast<clang::DeclRefExpr>(each);
    if (name == nullptr || name->getDecl() != variable) continue;
    for (const clang::Stmt* at = each; at != expression;) {
      const clang::Stmt* part = std::exchange(at, code.Parent(at));
      const auto* binary = dyn_cast<clang::BinaryOperator>(at);
      const bool taken_away =
          binary != nullptr && binary->getOpcode() == clang::BO_Sub && binary->getRHS() == part;
      if (taken_away ||
          (binary != nullptr ? !binary->isAdditiveOp()
                             : !clang::isa<clang::ImplicitCastExpr, clang::ParenExpr>(at)))
        return false;
    }
  }
  return Mentions(expression, variable) > 0;
}

// Whether the window moves on by one element from turn to turn: each element depends on the sum of
// both counters, or only on the window's, whose bounds move.
bool Moves(const FunctionCode& code, const Loop& window, const clang::VarDecl* counter) {
  const clang::Stmt* body = window.stmt->getBody();
  bool bounds = false;
  for (const clang::Expr* bound : {window.first, window.last}) {
    if (Mentions(bound, counter) == 0) continue;
    if (!IsSummand(code, bound, counter)) return false;
    bounds = true;
  }
  if (Mentions(body, counter) == 0) return bounds;
  int named = 0;
  for (const clang::Stmt* each : Below(body)) {
    const auto* element = dyn_cast<clang::ArraySubscriptExpr>(each);
    if (element == nullptr) continue;
    const clang::Expr* index = element->getIdx();
    if (!IsSummand(code, index, counter) || !IsSummand(code, index, window.var)) return false;
    named += Mentions(index, window.var);
  }
  return !bounds && named > 0 && named == Mentions(body, window.var);
}

std::optional<MovingSum> MovingSumOf(const FunctionCode& code, const Loop& outer) {
  if (Has<clang::ContinueStmt, clang::BreakStmt, clang::ReturnStmt, clang::GotoStmt>(
          outer.stmt->getBody()))
    return std::nullopt;
  MovingSum moving{.sum_begins = 0, .window = nullptr, .additions = {}};
  Variables sums;
  for (const clang::Stmt* stmt : outer.body) {
    const Loop* loop = code.LoopOf(stmt);
    if (loop != nullptr) {
      moving.window = loop;
      break;
    }
    const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
    if (declaration == nullptr) return std::nullopt;
    // They begin with what does not change, and so may begin once.
    for (const clang::Decl* decl : declaration->decls()) {
      const auto* variable = dyn_cast<clang::VarDecl>(decl);
      if (variable == nullptr || variable->getInit() == nullptr ||
          !variable->getType()->isArithmeticType() || !Used(variable->getInit()).empty())
        return std::nullopt;
      sums.insert(variable);
    }
    ++moving.sum_begins;
  }
  if (moving.window == nullptr || sums.empty()) return std::nullopt;
  const clang::Stmt* sum = moving.window->stmt;
  while (const Loop* inner = code.OnlyLoopIn(*moving.window)) moving.window = inner;
  const clang::Stmt* body = moving.window->stmt->getBody();
  if (Has<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(body) ||
      !OnlyAdds(body, sums, &moving.additions) || !Moves(code, *moving.window, outer.var))
    return std::nullopt;
  for (const clang::Stmt* stmt : outer.body)
    if (stmt != sum && Share(Changed(stmt), sums)) return std::nullopt;
  return moving;
}

// The expression after edits as a part of a sum: anything but a sum or name is in parentheses.
std::string Part(const FunctionCode& code, const clang::Expr* expression, const Edits& edits) {
  const clang::Expr* bare = expression->IgnoreImpCasts();
  const auto* sum = dyn_cast<clang::BinaryOperator>(bare);
  const bool plain =
      sum != nullptr
          ? sum->isAdditiveOp()
          : clang::isa<clang::DeclRefExpr, clang::IntegerLiteral, clang::ParenExpr>(bare);
  const std::string text = code.Text(expression, edits);
  return plain ? text : "(" + text + ")";
}

// What the window's loop does with one element, which `edits` name.
std::string Element(const FunctionCode& code, const Loop& window, const Edits& edits) {
  const std::string text = code.Text(window.body, edits);
  return Declared(window.stmt->getBody()).empty() ? text : "{\n" + text + "}\n";
}

}  // namespace

void MoveSums(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& outer : code.loops()) {
    const std::optional<MovingSum> moving = MovingSumOf(code, outer);
    if (!moving) continue;
    const Loop& window = *moving->window;
    const clang::Stmt* body = window.stmt->getBody();
    const std::string name = outer.var->getNameAsString();
    // What comes into the window: its last element.
    Edits entering;
    code.Replace(body, window.var,
                 window.inclusive ? Part(code, window.last, {}) : code.Bound(window) + " - 1",
                 &entering);
    // What left it: the first element of the turn before.
    Edits first;
    code.Replace(window.first, outer.var, name + " - 1", &first);
    Edits leaving;
    code.Replace(body, window.var, Part(code, window.first, first), &leaving);
    code.Replace(body, outer.var, name + " - 1", &leaving);
    for (const clang::Stmt* addition : moving->additions) {
      const auto* unary = dyn_cast<clang::UnaryOperator>(addition);
      const auto* binary = dyn_cast<clang::BinaryOperator>(addition);
      const size_t at =
          code.At(unary != nullptr ? unary->getOperatorLoc() : binary->getOperatorLoc());
      leaving.push_back({at, at + 2, unary != nullptr ? "--" : "-="});
    }
    const clang::Stmt* sum = outer.body[moving->sum_begins];
    const bool in_body = Mentions(body, outer.var) > 0;
    std::string moved;
    if (in_body || Mentions(window.last, outer.var) > 0) moved += Element(code, window, entering);
    if (in_body || Mentions(window.first, outer.var) > 0) moved += Element(code, window, leaving);
    const std::vector<const clang::Stmt*> sums(
        outer.body.begin(), outer.body.begin() + static_cast<long>(moving->sum_begins));
    const std::vector<const clang::Stmt*> others(
        outer.body.begin() + static_cast<long>(moving->sum_begins) + 1, outer.body.end());
    rewrites->push_back(
        {"sums moved along",
         code.Source({code.Instead(
             outer.stmt, "{\n" + code.Text(sums, {}) + code.Head(outer) + " {\nif (" + name +
                             " == " + code.Operand(outer.first) + ") {\n" + code.Text(sum) +
                             "\n} else {\n" + code.Text(sum, {code.Instead(window.stmt, moved)}) +
                             "\n}\n" + code.Text(others, {}) + "}\n}")})});
  }
}

}  // namespace whetstone
