// The standard library's containers, as programs make them and use them.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_CONTAINERS_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_CONTAINERS_H_

#include <optional>
#include <vector>

#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/function_code.h"

namespace whetstone {

// Whether it is std::vector, or a reference to one; the same of std::string and std::span.
bool IsVector(clang::QualType type);
bool IsString(clang::QualType type);
bool IsSpan(clang::QualType type);

// A vector or string that a statement of its own declares, with what it is made of: nothing, a
// size, a size and a value, a range, or another one.
struct Container {
  const clang::VarDecl* variable = nullptr;
  std::vector<const clang::Expr*> made_of;  // as it is written
};

// Returns none for a constant or static one, a braced list, or what a call returns.
std::optional<Container> AsContainer(const clang::Stmt* stmt);
// The arguments that a container is made with, without those that are not written.
std::vector<const clang::Expr*> MadeWith(const clang::Expr* expression);
// The call of a function of the container, v.NAME(…); null for anything else.
const clang::CXXMemberCallExpr* AsCallOf(const clang::Stmt* stmt, const clang::VarDecl* variable,
                                         const char* name);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_CONTAINERS_H_
