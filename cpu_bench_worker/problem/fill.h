// Fills arrays with a problem's inputs. The n-th element is a function of (key, n) alone.
#ifndef WHETSTONE_CPU_BENCH_WORKER_PROBLEM_FILL_H_
#define WHETSTONE_CPU_BENCH_WORKER_PROBLEM_FILL_H_

#include <cstdint>
#include <vector>

#include "common/problem/struct_type.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

enum class FillStyle {
  kPlain,  // as the problem's fill says
  // The same domain, but a quarter of the elements are the values that break careless code: the
  // bounds, zero where it lies between them; permutations reversed; sorted arrays of two values.
  kEdges,
};

// Writes `count` elements of `type` at `out` (aligned for nothing in particular).
// uniform: floating types in [lo, hi], integers lo…hi inclusive. sorted: order statistics of
// uniform numbers, made in one pass from exponential spacings (Devroye 1986, V.3.2). Integers wrap.
void FillElements(v1::ElementType type, const v1::Fill& fill, FillStyle style, int64_t count,
                  uint64_t key, void* out);
// The same for elements that may be structs: each field by its own of `fills`, and from a key of
// its own, as if it were an array by itself. Padding stays as it was.
void FillElements(const ElementLayout& element, const std::vector<v1::Fill>& fills, FillStyle style,
                  int64_t count, uint64_t key, void* out);

// Value of the byte that poisons an output of `type`: all-ones for floating types (every element a
// NaN), a random byte with the top bit set for integers, so that stale poison is never right by
// luck.
uint8_t PoisonByte(v1::ElementType type, uint64_t key);
// Poisons `count` elements so, each field by its type; padding too.
void PoisonElements(const ElementLayout& element, int64_t count, uint64_t key, void* out);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_PROBLEM_FILL_H_
