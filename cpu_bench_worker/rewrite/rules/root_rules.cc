#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/math_calls.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

// A call of sqrt or hypot, and where its value is used: itself, or the variable that it is kept in.
struct Root {
  const clang::CallExpr* call = nullptr;
  const clang::VarDecl* variable = nullptr;
  std::vector<const clang::Expr*> uses;
};

const clang::CallExpr* AsRoot(const FunctionCode& code, const clang::Stmt* stmt) {
  const clang::CallExpr* call = AsMathCall(code, stmt);
  if (call == nullptr) return nullptr;
  const std::string name = ExpensiveName(call);
  if (name == "hypot") {
    for (const clang::Expr* argument : call->arguments())
      if (call->getNumArgs() != 2 || !OnlyComputes(code, argument)) return nullptr;
    return call;
  }
  return name == "sqrt" && call->getNumArgs() == 1 ? call : nullptr;
}

// The product of a value with itself, as a number of this type.
std::string Product(const FunctionCode& code, const clang::Expr* value, const std::string& type) {
  const std::string operand = code.Operand(value);
  const bool same = FloatingType(value->IgnoreParenImpCasts()->getType()) == type;
  return (same ? operand : "(" + type + ")" + operand) + " * " +
         (same ? operand : "(" + type + ")" + operand);
}

// What is below the root.
std::string Square(const FunctionCode& code, const clang::CallExpr* root) {
  if (root->getNumArgs() == 1) return "(" + code.Text(root->getArg(0)) + ")";
  const std::string type = FloatingType(root->getType());
  return "(" + Product(code, root->getArg(0), type) + " + " + Product(code, root->getArg(1), type) +
         ")";
}

std::vector<const clang::Expr*> UsesIn(const clang::Stmt* stmt, const clang::VarDecl* variable) {
  std::vector<const clang::Expr*> uses;
  for (const clang::Stmt* each : Below(stmt)) {
    const auto* name = dyn_cast<clang::DeclRefExpr>(each);
    if (name != nullptr && name->getDecl() == variable) uses.push_back(name);
  }
  return uses;
}

// The call with its uses; nothing, if it is none, or kept in what changes.
std::optional<Root> AsKeptRoot(const FunctionCode& code, const clang::Stmt* stmt) {
  const clang::CallExpr* call = AsRoot(code, stmt);
  if (call == nullptr) return std::nullopt;
  const clang::Stmt* parent = code.Parent(call);
  while (isa<clang::ImplicitCastExpr, clang::ParenExpr>(parent)) parent = code.Parent(parent);
  const auto* declaration = dyn_cast<clang::DeclStmt>(parent);
  if (declaration == nullptr) return Root{.call = call, .variable = nullptr, .uses = {call}};
  const auto* variable = declaration->isSingleDecl()
                             ? dyn_cast<clang::VarDecl>(declaration->getSingleDecl())
                             : nullptr;
  if (variable == nullptr || FloatingType(variable->getType()).empty() ||
      Changed(code.body()).count(variable) > 0)
    return std::nullopt;
  return Root{.call = call, .variable = variable, .uses = UsesIn(code.body(), variable)};
}

bool IsExtremum(const clang::CallExpr* call) {
  static const std::set<std::string> kNames = {"min", "max", "fmin", "fmax", "fminf", "fmaxf"};
  const clang::FunctionDecl* callee = call->getDirectCallee();
  return callee != nullptr && call->getNumArgs() == 2 && !callee->getDeclName().isEmpty() &&
         kNames.count(callee->getNameAsString()) > 0;
}

std::optional<llvm::APFloat> Known(const FunctionCode& code, const clang::Expr* value) {
  clang::Expr::EvalResult known;
  if (value->isValueDependent() || !value->EvaluateAsRValue(known, code.context()))
    return std::nullopt;
  if (known.Val.isFloat()) return known.Val.getFloat();
  if (!known.Val.isInt() || !known.Val.getInt().isRepresentableByInt64()) return std::nullopt;
  return llvm::APFloat(static_cast<double>(known.Val.getInt().getExtValue()));
}

// The same of a value that a root is compared with; of one that is below 0 itself, as no square is
// below it.
std::string Squared(const FunctionCode& code, const clang::Expr* value, const std::string& type) {
  const std::optional<llvm::APFloat> known = Known(code, value);
  if (known && (known->isNegative() || known->isZero() || known->isInfinity()))
    return code.Text(value);
  return Product(code, value, type);
}

// Squares finds out which roots a function can do without where they are compared, and what it has
// to say instead. The best one so far (`if (d < best) best = d;`) is kept without its root too.
class Squares {
 public:
  explicit Squares(const FunctionCode& code) : code_(code) {
    for (const clang::Stmt* stmt : Below(code.body()))
      if (const std::optional<Root> root = AsKeptRoot(code, stmt)) roots_.push_back(*root);
  }

  // The edits; none, if no comparison can do without a root.
  Edits Find() {
    std::optional<Edits> edits;
    while (!roots_.empty() && !edits) edits = Try();
    return edits ? *std::move(edits) : Edits{};
  }

 private:
  // What the best one so far is kept in, and the roots that it takes.
  using Bests = std::map<const clang::VarDecl*, std::set<const clang::CallExpr*>>;

  // The edits without these roots; nothing, if some of them are needed, which are forgotten.
  std::optional<Edits> Try() {
    bests_.clear();
    compared_.clear();
    for (const Root& root : roots_) {
      for (const clang::Expr* argument : root.call->arguments())
        if (HasSquare(argument)) return Without({root.call});
      for (const clang::Expr* use : root.uses)
        if (!Follow(use, {root.call})) return Without({root.call});
    }
    // What is taken from one best one by another (the second best).
    for (bool more = true; more;) {
      more = false;
      const Bests before = bests_;
      for (const auto& [best, roots] : before) {
        for (const clang::Expr* use : UsesIn(SearchFor(best), best))
          if (!Follow(use, roots)) return Without(roots);
      }
      for (const auto& [best, roots] : bests_)
        more = more || before.count(best) == 0 || before.at(best) != roots;
    }
    Edits edits;
    for (const auto& [best, roots] : bests_)
      if (!KeepSquared(best, *roots.begin(), &edits)) return Without(roots);
    for (const auto& [comparison, roots] : compared_) {
      for (const clang::Expr* side : {comparison->getLHS(), comparison->getRHS()}) {
        if (AllSquares(side)) continue;
        const std::string type = FloatingType(side->getType());
        if (type.empty() || HasSquare(side) || !OnlyComputes(code_, side)) return Without(roots);
        edits.push_back(code_.Instead(side, Squared(code_, side, type)));
      }
    }
    for (const Root& root : roots_)
      edits.push_back(code_.Instead(root.call, Square(code_, root.call)));
    return edits;
  }

  std::nullopt_t Without(const std::set<const clang::CallExpr*>& roots) {
    std::erase_if(roots_, [&](const Root& each) { return roots.count(each.call) > 0; });
    return std::nullopt;
  }

  // Whether an expression is a square where it was a root.
  bool IsSquare(const clang::Expr* expression) const {
    const clang::Expr* bare = expression->IgnoreParenImpCasts();
    const clang::VarDecl* named = NamedVariable(bare);
    return bests_.count(named) > 0 ||
           std::any_of(roots_.begin(), roots_.end(), [&](const Root& root) {
             return root.call == bare || (named != nullptr && root.variable == named);
           });
  }

  bool HasSquare(const clang::Stmt* stmt) const {
    const std::vector<const clang::Stmt*> parts = Below(stmt);
    return std::any_of(parts.begin(), parts.end(), [this](const clang::Stmt* each) {
      const auto* expression = dyn_cast<clang::Expr>(each);
      return expression != nullptr && IsSquare(expression);
    });
  }

  // Follows a value from where it is used to the comparison, or into the best one so far; false if
  // it is used for anything else.
  bool Follow(const clang::Expr* use, const std::set<const clang::CallExpr*>& roots) {
    const clang::Stmt* part = use;
    for (const clang::Stmt* at = code_.Parent(use); at != nullptr;
         part = at, at = code_.Parent(at)) {
      if (isa<clang::ParenExpr, clang::ImplicitCastExpr, clang::MaterializeTemporaryExpr>(at))
        continue;
      if (const auto* choice = dyn_cast<clang::ConditionalOperator>(at)) {
        if (part == choice->getCond()) return false;
        continue;
      }
      if (const auto* call = dyn_cast<clang::CallExpr>(at)) {
        if (!IsExtremum(call)) return false;
        continue;
      }
      const auto* binary = dyn_cast<clang::BinaryOperator>(at);
      if (binary == nullptr) return false;
      if (binary->isRelationalOp()) {
        compared_[binary].insert(roots.begin(), roots.end());
        return true;
      }
      const clang::VarDecl* best = NamedVariable(binary->getLHS());
      if (binary->getOpcode() != clang::BO_Assign || best == nullptr || !best->hasLocalStorage() ||
          isa<clang::ParmVarDecl>(best) || FloatingType(best->getType()).empty() ||
          SearchFor(best) == nullptr)
        return false;
      if (part == binary->getRHS()) bests_[best].insert(roots.begin(), roots.end());
      return true;
    }
    return false;
  }

  // The loop behind the declaration of a variable, in the same block, that is the first to name it.
  const clang::Stmt* SearchFor(const clang::VarDecl* best) const {
    bool declared = false;
    for (const clang::Stmt* block : Below(code_.body())) {
      if (!isa<clang::CompoundStmt>(block)) continue;
      for (const clang::Stmt* stmt : block->children()) {
        const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
        if (declared && Mentions(stmt, best) > 0) return IsLoop(stmt) ? stmt : nullptr;
        declared = declared || (declaration != nullptr && declaration->isSingleDecl() &&
                                declaration->getSingleDecl() == best);
      }
      if (declared) return nullptr;
    }
    return nullptr;
  }

  // Whether all that is assigned is a square: one of several, or the larger or smaller of two.
  bool AllSquares(const clang::Expr* value) const {
    const clang::Expr* bare = value->IgnoreParenImpCasts();
    if (IsSquare(bare)) return true;
    if (const auto* kept = dyn_cast<clang::MaterializeTemporaryExpr>(bare))
      return AllSquares(kept->getSubExpr());
    if (const auto* choice = dyn_cast<clang::ConditionalOperator>(bare))
      return AllSquares(choice->getTrueExpr()) && AllSquares(choice->getFalseExpr());
    const auto* call = dyn_cast<clang::CallExpr>(bare);
    return call != nullptr && IsExtremum(call) && AllSquares(call->getArg(0)) &&
           AllSquares(call->getArg(1));
  }

  // Adds what has to be said where the best one is declared, and behind its search.
  bool KeepSquared(const clang::VarDecl* best, const clang::CallExpr* root, Edits* edits) const {
    const clang::Stmt* search = SearchFor(best);
    const clang::Expr* first = best->getInit();
    if (first == nullptr || (!Known(code_, first) && !OnlyComputes(code_, first)) ||
        Share(Used(first), ChangedOrDeclared(search)))
      return false;
    for (const clang::Stmt* each : Below(search)) {
      const std::optional<Assignment> assignment = AsAssignment(each);
      if (!assignment || NamedVariable(assignment->target) != best) continue;
      if (assignment->kind != clang::BO_Assign || !AllSquares(assignment->value)) return false;
    }
    const std::string name = best->getNameAsString();
    const std::string function =
        root->getNumArgs() == 1 ? code_.Text(root->getCallee()) : "std::sqrt";
    const std::string type = FloatingType(best->getType());
    const std::string squared = Squared(code_, first, type);
    edits->push_back(code_.Instead(first, squared));
    // Where nothing is found the first value stays, whose square may have been beyond all numbers.
    const std::optional<llvm::APFloat> known = Known(code_, first);
    const bool its_own = known && !known->isNegative() && (known->isZero() || known->isInfinity());
    const std::string kept =
        its_own ? "" : name + " == " + squared + " ? " + code_.Text(first) + " : ";
    const size_t end = code_.End(search);
    edits->push_back({end, end, "\n" + name + " = " + kept + function + "(" + name + ");"});
    return true;
  }

  const FunctionCode& code_;
  std::vector<Root> roots_;
  Bests bests_;
  std::map<const clang::BinaryOperator*, std::set<const clang::CallExpr*>> compared_;
};

}  // namespace

void CompareSquares(const FunctionCode& code, Rewrites* rewrites) {
  if (Has<clang::LambdaExpr>(code.body())) return;  // What it does with a root is its own.
  const Edits edits = Squares(code).Find();
  if (!edits.empty()) rewrites->push_back({"compared without roots", code.Source(edits)});
}

}  // namespace whetstone
