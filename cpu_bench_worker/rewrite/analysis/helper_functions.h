// The small functions that a program's functions are written with: what can stand in the place of
// its calls.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_HELPER_FUNCTIONS_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_HELPER_FUNCTIONS_H_

#include <optional>
#include <utility>
#include <vector>

#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Expr.h"
#include "cpu_bench_worker/rewrite/analysis/function_code.h"

namespace whetstone {

// A function that can stand in the place of its calls: statements one after the other, the last of
// which says what it returns.
struct Helper {
  const clang::FunctionDecl* definition = nullptr;
  std::vector<const clang::Stmt*> first;
  // `if (condition) return value;` before the last one: values by their conditions.
  std::vector<std::pair<const clang::Expr*, const clang::Expr*>> guards = {};
  const clang::Expr* value = nullptr;  // null: it returns nothing, and ends with a loop or such
  bool quiet = true;                   // it assigns nothing but what is its own
};

// The definition of what is called, if it is written in the program; null if it is not.
const clang::FunctionDecl* WrittenHere(const FunctionCode& code, const clang::CallExpr* call);
// The function, if it is defined above this one, calls only what is above itself, and returns
// nowhere but at its end: the last statement, and conditions just before it.
std::optional<Helper> AsHelper(const FunctionCode& code, const clang::FunctionDecl* definition);

// The expression without what clang adds to it.
const clang::Expr* AsWritten(const clang::Expr* expression);
// The type without qualifiers and names of its own.
clang::QualType PlainType(clang::QualType type);
// Whether nothing is torn apart where an expression stands among operators.
bool IsClosed(const clang::Expr* expression);
// Whether a call that is a part of `around` stands apart from all operators.
bool StandsApart(const clang::CallExpr* call, const clang::Stmt* around);
bool CallsOrAssigns(const clang::Stmt* stmt);
// What `x` of auto [x, y] names; null for any other expression. NamedVariable does not know it.
const clang::BindingDecl* NamedBinding(const clang::Stmt* expression);
// Whether one is named below `stmt`.
bool NamesBinding(const clang::Stmt* stmt);
// Whether all that is done with a variable below `stmt` is to read it or a field of it. `read`: so
// is the statement itself.
bool OnlyRead(const clang::Stmt* stmt, const clang::VarDecl* variable, bool read = false);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_HELPER_FUNCTIONS_H_
