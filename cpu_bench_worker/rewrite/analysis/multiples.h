// Sums of multiples of a loop's counters and of what stays the same.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_MULTIPLES_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_MULTIPLES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cpu_bench_worker/rewrite/analysis/function_code.h"

namespace whetstone {

// A sum of multiples: "2 * y + dy - 1".
struct Multiples {
  struct Term {
    const clang::VarDecl* counter = nullptr;  // null where it is something that stays the same
    std::string text;
    int64_t factor = 0;
  };
  std::vector<Term> terms;  // in the order of the source
  int64_t constant = 0;

  void Add(const Multiples& other, int64_t factor);
  Multiples Without(const Multiples& other) const;
  // How many of its terms are counters.
  ptrdiff_t Counters() const;
  // The largest of its numbers, without the sign.
  int64_t Largest() const;
  std::string Text() const;
};

// The text as an operand: in parentheses, if it is a sum.
std::string InParentheses(const std::string& text);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_MULTIPLES_H_
