// Between which values the places of elements stay, as the loops and conditions around them say.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_INDEX_RANGES_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_INDEX_RANGES_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cpu_bench_worker/rewrite/analysis/function_code.h"
#include "cpu_bench_worker/rewrite/analysis/polynomial.h"

namespace whetstone {

class IndexRanges {
 public:
  explicit IndexRanges(const FunctionCode& code);

  // What a whole number is at most, where sizes and counters are not below 0; counters are names of
  // their own in it. Nothing, if that is not known.
  std::optional<Polynomial> Most(const clang::Expr* expression) const;
  // The same of parameters alone: every counter at its end, the innermost ones first, so that what
  // they say of outer ones (`j < n - i`) counts.
  std::optional<Polynomial> Resolved(Polynomial most) const {
    return Resolved(std::move(most), true);
  }
  // Whether anything may change a variable (not: what it points to).
  bool MayChange(const clang::VarDecl* variable) const { return changed_.count(variable) > 0; }

 private:
  // A side that is not known is missing.
  struct Range {
    std::optional<Polynomial> least;
    std::optional<Polynomial> most;
  };
  using Bound = std::optional<Polynomial>;

  // The value at its largest (`most`) or smallest.
  Bound Resolved(Polynomial value, bool most) const;
  bool IsNeverNegative(const Bound& value) const;
  std::string Symbol(const clang::VarDecl* counter) const;
  Range OfSymbol(const std::string& symbol) const;
  bool StandsInOwnHead(const clang::Stmt* use, const clang::VarDecl* variable) const;
  Range Of(const clang::Expr* expression, int depth) const;
  Range OfVariable(const clang::VarDecl* variable, int depth) const;
  Range OfCall(const clang::CallExpr* call, int depth) const;
  Range OfFirstValue(const clang::VarDecl* variable, int depth) const;
  Range HeldBefore(const clang::Stmt* use, const clang::VarDecl* variable, int depth) const;
  Range OfBinary(const clang::BinaryOperator* binary, int depth) const;
  Range OfCounter(const clang::VarDecl* counter, const clang::ForStmt* loop, int depth) const;
  Range Held(clang::QualType type, const Range& range) const;
  Bound NeitherNegative(const Range& one, const Range& other) const;
  Bound LargerOf(const Bound& left, const Bound& right) const;
  Bound SmallerOf(const Bound& left, const Bound& right) const;
  Bound LeastBy(const clang::Expr* condition, bool negated, const clang::VarDecl* variable,
                int depth) const;
  Bound MostBy(const clang::Expr* condition, bool negated, const clang::VarDecl* variable,
               int depth) const;
  std::vector<std::pair<const clang::Expr*, bool>> GuardsOf(const clang::Stmt* use) const;

  const FunctionCode& code_;
  Variables changed_;
  std::map<const clang::VarDecl*, const clang::ForStmt*> loops_;  // of counters
  mutable Variables being_read_;
  mutable int steps_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_INDEX_RANGES_H_
