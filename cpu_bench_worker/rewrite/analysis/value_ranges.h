// Between which whole numbers an expression lies, by the types of what it is made of.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_VALUE_RANGES_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_VALUE_RANGES_H_

#include <optional>

#include "cpu_bench_worker/rewrite/analysis/function_code.h"

namespace whetstone {

struct ValueRange {
  int64_t least = 0;
  int64_t most = 0;
};

// Whether it is the type of fractions, or of whole numbers that take more bits than an int.
bool IsWide(const FunctionCode& code, clang::QualType type);

// An integer expression that an int has room for.
struct NarrowValue {
  const clang::Expr* expression = nullptr;
  ValueRange range;
};

// Returns what `expression` is below conversions to a fraction or to a wider integer, if it and all
// that it is made of are known to fit in an int (or an unsigned int): bytes and shorts, what is
// added, multiplied or chosen of them, and variables that never are anything else.
std::optional<NarrowValue> AsNarrow(const FunctionCode& code, const clang::Expr* expression);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_VALUE_RANGES_H_
