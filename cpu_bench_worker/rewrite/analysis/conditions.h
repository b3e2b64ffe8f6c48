// What conditions and assignments say: the pieces that several rules of rewriting look for.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_CONDITIONS_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_CONDITIONS_H_

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/analysis/function_code.h"

namespace whetstone {

// What an expression joins by an operator, such as a product's factors; itself, if it joins
// nothing.
std::vector<const clang::Expr*> JoinedBy(clang::BinaryOperatorKind kind,
                                         const clang::Expr* expression);
// The conditions that `condition` joins by &&; itself, if it joins none.
std::vector<const clang::Expr*> Conjuncts(const clang::Expr* condition);
// The same of ||.
std::vector<const clang::Expr*> Disjuncts(const clang::Expr* condition);

// The statement, if it is an `if` that only looks at a condition: it declares nothing and is no
// `if constexpr` or `if consteval`.
const clang::IfStmt* AsPlainIf(const clang::Stmt* stmt);
// The same, if it has no else.
const clang::IfStmt* AsGuard(const clang::Stmt* stmt);
// The guard that is all a loop does; null if it does anything else.
const clang::IfStmt* GuardOf(const Loop& loop);

// Whether a branch does nothing but `continue`.
bool OnlyContinues(const clang::Stmt* branch);

// Whether a statement has a `break` or `continue` of the loop it is in.
template <typename Kind>
bool HasOwn(const clang::Stmt* stmt) {
  if (stmt == nullptr || llvm::isa<Kind>(stmt)) return stmt != nullptr;
  if (IsLoop(stmt) ||
      (llvm::isa<clang::SwitchStmt>(stmt) && std::is_same_v<Kind, clang::BreakStmt>))
    return false;
  return std::any_of(stmt->child_begin(), stmt->child_end(), HasOwn<Kind>);
}

// counter < limit (upper) or counter > limit, or equal too.
struct CounterComparison {
  const clang::Expr* limit = nullptr;
  bool upper = false;
  bool equal = false;
};
std::optional<CounterComparison> ComparedCounter(const clang::Expr* condition,
                                                 const clang::VarDecl* counter);

// target = value, or target OP= value; ++ and -- have no value.
struct Assignment {
  const clang::Expr* target = nullptr;
  clang::BinaryOperatorKind kind = clang::BO_Assign;  // BO_AddAssign for ++, BO_SubAssign for --
  const clang::Expr* value = nullptr;
};
std::optional<Assignment> AsAssignment(const clang::Stmt* stmt);

// "+" of += and so on.
const char* OperatorOf(clang::BinaryOperatorKind assignment);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_CONDITIONS_H_
