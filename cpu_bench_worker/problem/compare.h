// Decides whether one output array is right.
#ifndef WHETSTONE_CPU_BENCH_WORKER_PROBLEM_COMPARE_H_
#define WHETSTONE_CPU_BENCH_WORKER_PROBLEM_COMPARE_H_

#include <cstdint>
#include <string>

#include "common/problem/struct_type.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

struct Comparison {
  bool right = true;
  int64_t first_bad = -1;  // element index, when not right
  int64_t bad = 0;         // elements that differ too much
  size_t field = 0;        // of a struct: the first field in which any does; the others speak of it
};

// Compares `count` elements under `rule`; integers are always exact. A NaN in `got` or in `want` is
// never right, whatever the rule. `slack` widens rtol and atol (2 where `want` itself is only known
// within the tolerance).
//   exact        got == want (so -0 equals 0)
//   scaled       |got - want| <= rtol * max(max|want|, 1e-3), the maximum over the whole array
//   elementwise  |got - want| <= atol + rtol * |want|
Comparison CompareElements(v1::ElementType type, const v1::Compare& rule, double slack,
                           int64_t count, const void* got, const void* want);
// The same for elements that may be structs: field by field, each as if it were an array by itself,
// so that `scaled` takes each field's own maximum. Padding may be anything.
Comparison CompareElements(const ElementLayout& element, const v1::Compare& rule, double slack,
                           int64_t count, const void* got, const void* want);

// "c[3] is 7, expected 1.5" for element `index`; "poison" stands for an untouched output.
std::string DescribeElement(const std::string& name, v1::ElementType type, int64_t index,
                            const void* got, const void* want);
// "p[3].x is 7, expected 1.5": what a comparison that went wrong found first.
std::string DescribeElement(const std::string& name, const ElementLayout& element,
                            const Comparison& comparison, const void* got, const void* want);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_PROBLEM_COMPARE_H_
