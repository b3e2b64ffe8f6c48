#include "cpu_bench_worker/rewrite/analysis/conditions.h"

namespace whetstone {

using clang::dyn_cast;
using clang::dyn_cast_or_null;

std::vector<const clang::Expr*> JoinedBy(clang::BinaryOperatorKind kind,
                                         const clang::Expr* expression) {
  const auto* both = dyn_cast<clang::BinaryOperator>(expression->IgnoreParenImpCasts());
  if (both == nullptr || both->getOpcode() != kind) return {expression};
  std::vector<const clang::Expr*> found = JoinedBy(kind, both->getLHS());
  for (const clang::Expr* each : JoinedBy(kind, both->getRHS())) found.push_back(each);
  return found;
}

std::vector<const clang::Expr*> Conjuncts(const clang::Expr* condition) {
  return JoinedBy(clang::BO_LAnd, condition);
}

std::vector<const clang::Expr*> Disjuncts(const clang::Expr* condition) {
  return JoinedBy(clang::BO_LOr, condition);
}

const clang::IfStmt* AsPlainIf(const clang::Stmt* stmt) {
  const auto* branch = dyn_cast_or_null<clang::IfStmt>(stmt);
  if (branch == nullptr || branch->getStatementKind() != clang::IfStatementKind::Ordinary ||
      branch->getInit() != nullptr || branch->getConditionVariable() != nullptr)
    return nullptr;
  return branch;
}

const clang::IfStmt* AsGuard(const clang::Stmt* stmt) {
  const clang::IfStmt* branch = AsPlainIf(stmt);
  return branch == nullptr || branch->getElse() != nullptr ? nullptr : branch;
}

const clang::IfStmt* GuardOf(const Loop& loop) {
  return loop.body.size() == 1 ? AsGuard(loop.body[0]) : nullptr;
}

bool OnlyContinues(const clang::Stmt* branch) {
  const std::vector<const clang::Stmt*> statements = StatementsOf(branch);
  return statements.size() == 1 && llvm::isa<clang::ContinueStmt>(statements[0]);
}

std::optional<CounterComparison> ComparedCounter(const clang::Expr* condition,
                                                 const clang::VarDecl* counter) {
  const auto* test = dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (test == nullptr || !test->isRelationalOp()) return std::nullopt;
  const clang::BinaryOperatorKind kind = test->getOpcode();
  const bool less = kind == clang::BO_LT || kind == clang::BO_LE;
  const bool equal = kind == clang::BO_LE || kind == clang::BO_GE;
  if (NamedVariable(test->getLHS()) == counter)
    return CounterComparison{.limit = test->getRHS(), .upper = less, .equal = equal};
  if (NamedVariable(test->getRHS()) == counter)
    return CounterComparison{.limit = test->getLHS(), .upper = !less, .equal = equal};
  return std::nullopt;
}

std::optional<Assignment> AsAssignment(const clang::Stmt* stmt) {
  if (const auto* unary = dyn_cast_or_null<clang::UnaryOperator>(stmt)) {
    if (!unary->isIncrementDecrementOp()) return std::nullopt;
    return Assignment{.target = unary->getSubExpr(),
                      .kind = unary->isIncrementOp() ? clang::BO_AddAssign : clang::BO_SubAssign,
                      .value = nullptr};
  }
  const auto* binary = dyn_cast_or_null<clang::BinaryOperator>(stmt);
  if (binary == nullptr || !binary->isAssignmentOp()) return std::nullopt;
  return Assignment{
      .target = binary->getLHS(), .kind = binary->getOpcode(), .value = binary->getRHS()};
}

const char* OperatorOf(clang::BinaryOperatorKind assignment) {
  switch (assignment) {
    case clang::BO_AddAssign:
      return "+";
    case clang::BO_SubAssign:
      return "-";
    case clang::BO_MulAssign:
      return "*";
    case clang::BO_OrAssign:
      return "|";
    case clang::BO_XorAssign:
      return "^";
    case clang::BO_AndAssign:
      return "&";
    default:
      return "";
  }
}

}  // namespace whetstone
