// What conditions and assignments say: the pieces that several rules of rewriting look for.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_CONDITIONS_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_CONDITIONS_H_

#include <optional>
#include <vector>

#include "cpu_bench_worker/rewrite/function_code.h"

namespace whetstone {

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

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_CONDITIONS_H_
