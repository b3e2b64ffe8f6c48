// Statements that take one value after another into an accumulator, in whatever order: sums, and
// the smallest or largest of values.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_TAKINGS_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_TAKINGS_H_

#include <string>
#include <vector>

#include "cpu_bench_worker/rewrite/analysis/function_code.h"

namespace whetstone {

enum class TakingKind { kSum, kXor, kOr, kLeast, kLargest };

// One statement that takes another value into an accumulator.
struct Taking {
  const clang::Stmt* stmt = nullptr;
  const clang::VarDecl* accumulator = nullptr;
  TakingKind kind = TakingKind::kSum;
  const clang::Expr* value = nullptr;           // of a minimum or maximum
  std::vector<const clang::Expr*> guards = {};  // of one: what else must hold
  int mentions = 0;                             // of the accumulator
};

// The statements below `stmt` that take values into variables from outside of it, if it changes
// nothing else, returns nowhere, and each variable takes in one way only; else none. Loops below it
// are looked into.
std::vector<Taking> TakingsOf(const FunctionCode& code, const clang::Stmt* stmt);
// How a part is joined to its accumulator: " += "; null for a minimum or maximum.
const char* JoinedBy(TakingKind kind);
// What joins a part to its accumulator: "sum += part;", "largest = part > largest ? part :
// largest;".
std::string Joined(TakingKind kind, const std::string& part, const std::string& accumulator);
// Adds the edits by which the statement takes into `accumulator`, another place. What edits that
// are there make of a minimum's or maximum's value is taken over; these are overridden.
void TakeInto(const FunctionCode& code, const Taking& taking, const std::string& accumulator,
              Edits* edits);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_TAKINGS_H_
