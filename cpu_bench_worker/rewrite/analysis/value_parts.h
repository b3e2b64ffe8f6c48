// The parts of a loop's turns that compute something of one whole number that the turn is given.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_VALUE_PARTS_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_VALUE_PARTS_H_

#include <optional>
#include <vector>

#include "cpu_bench_worker/rewrite/analysis/function_code.h"

namespace whetstone {

using Statements = std::vector<const clang::Stmt*>;

// A whole number that a turn is given: an element, or the variable that it is kept in.
struct Input {
  const clang::Expr* element = nullptr;
  const clang::VarDecl* variable = nullptr;  // null: the element itself
  size_t begins = 0;                         // the turn's first statement that may need it
};

// Statements of a turn that need nothing but one such number.
struct OfValue {
  Statements statements;
  std::vector<const clang::VarDecl*> results;  // what the rest of the turn needs of them
};

// The outermost loop whose turns may all take such a part from one table.
struct Place {
  std::vector<const Loop*> loops;  // those that the input needs
  const clang::Stmt* outer = nullptr;
  OfValue part;
};

// Whether a whole number stays what it is as one of this type.
bool Holds(const FunctionCode& code, clang::QualType type, clang::QualType number);
// The numbers that a loop's turns are given, as far as they are looked at.
std::vector<Input> InputsOf(const FunctionCode& code, const Loop& loop);
// The places below `stmt` where the input's element is read.
Statements ReadsOf(const FunctionCode& code, const Input& input, const clang::Stmt* stmt);
// Whether the input is named below `stmt`.
bool NeedsInput(const FunctionCode& code, const Input& input, const clang::Stmt* stmt);
// The place of the longest part of the loop's turns that takes long and needs nothing but the
// input, and of which the rest of the turn only needs numbers.
std::optional<Place> PlaceOf(const FunctionCode& code, const Loop& loop, const Input& input);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_VALUE_PARTS_H_
