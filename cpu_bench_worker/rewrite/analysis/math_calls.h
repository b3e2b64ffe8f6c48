// Calls of the C library's functions of numbers.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_MATH_CALLS_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_MATH_CALLS_H_

#include <string>

#include "clang/AST/Expr.h"
#include "cpu_bench_worker/rewrite/analysis/function_code.h"

namespace whetstone {

// "float" or "double"; empty for any other type.
std::string FloatingType(clang::QualType type);

// A call of a function of the C library with numbers, which has a fraction as its result; null if
// it is anything else.
const clang::CallExpr* AsMathCall(const FunctionCode& code, const clang::Stmt* stmt);

// The name of a function that takes many times as long as a product, without the letter that says
// that it is one of floats: "exp" for exp and expf; empty for any other function.
std::string ExpensiveName(const clang::CallExpr* math_call);

// Whether this itself takes many times as long as a product: such a function, or a division.
bool IsExpensive(const FunctionCode& code, const clang::Stmt* stmt);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_MATH_CALLS_H_
