// Sums, and where two counters are named only as theirs: what depends on it is the same for all of
// their values that add up to the same.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_COUNTER_SUMS_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_COUNTER_SUMS_H_

#include <optional>
#include <string>
#include <vector>

#include "cpu_bench_worker/rewrite/analysis/function_code.h"

namespace whetstone {

// What is added up, or taken away, in an expression; itself, if it is no sum.
struct Summand {
  const clang::Expr* expression = nullptr;
  bool minus = false;
};
std::vector<Summand> SummandsOf(const clang::Expr* expression);

// The edits that put `sum` in the place of the counters wherever they are added up below `stmt`
// ("y * width + x + dx" becomes "y * width + sum"); nothing, if one of them is named anywhere else,
// or neither is at all.
std::optional<Edits> SumsReplaced(const FunctionCode& code, const clang::Stmt* stmt,
                                  const clang::VarDecl* left, const clang::VarDecl* right,
                                  const std::string& sum);

// Whether `variable` is named in `expression`, and wherever it is, only added to something.
bool IsSummand(const FunctionCode& code, const clang::Expr* expression,
               const clang::VarDecl* variable);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_COUNTER_SUMS_H_
