#include "cpu_bench_worker/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cpu_bench_worker/element.h"

namespace whetstone {
namespace {

template <typename T>
T Load(const void* base, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + index * static_cast<int64_t>(sizeof(T)),
              sizeof value);
  return value;
}

double AsDouble(Bf16 value) { return static_cast<double>(ToFloat(value)); }
template <typename T>
double AsDouble(T value) {
  return static_cast<double>(value);
}

template <typename T>
Comparison CompareIntegers(int64_t count, const void* got, const void* want) {
  Comparison result;
  if (std::memcmp(got, want, static_cast<size_t>(count) * sizeof(T)) == 0) return result;
  result.right = false;
  for (int64_t i = 0; i < count; ++i) {
    if (Load<T>(got, i) == Load<T>(want, i)) continue;
    if (result.bad++ == 0) result.first_bad = i;
  }
  return result;
}

template <typename T>
Comparison CompareFloats(const v1::Compare& rule, double slack, int64_t count, const void* got,
                         const void* want) {
  double absolute = 0;
  double relative = 0;
  if (rule.rule() == v1::Compare::SCALED) {
    double largest = 0;
    for (int64_t i = 0; i < count; ++i)
      largest = std::max(largest, std::fabs(AsDouble(Load<T>(want, i))));
    absolute = slack * rule.rtol() * std::max(largest, 1e-3);
  } else if (rule.rule() == v1::Compare::ELEMENTWISE) {
    absolute = slack * rule.atol();
    relative = slack * rule.rtol();
  }
  // Counted first without a branch (vectorised), looked for only when something is wrong. Written
  // so that a NaN anywhere makes the comparison false, and so the element bad. Equal infinities are
  // right: their difference is a NaN, so they are compared by value too.
  const auto right = [&](int64_t i) {
    const double g = AsDouble(Load<T>(got, i));
    const double w = AsDouble(Load<T>(want, i));
    return (g == w) | (std::fabs(g - w) <= absolute + relative * std::fabs(w) && std::isfinite(w));
  };
  Comparison result;
  for (int64_t i = 0; i < count; ++i) result.bad += right(i) ? 0 : 1;
  if (result.bad == 0) return result;
  result.right = false;
  for (result.first_bad = 0; right(result.first_bad);) ++result.first_bad;
  return result;
}

}  // namespace

Comparison CompareElements(v1::ElementType type, const v1::Compare& rule, double slack,
                           int64_t count, const void* got, const void* want) {
  Comparison result;
  if (count <= 0) return result;
  VisitElementType(type, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_integral_v<T>) {
      result = CompareIntegers<T>(count, got, want);
    } else {
      result = CompareFloats<T>(rule, slack, count, got, want);
    }
  });
  return result;
}

std::string DescribeElement(const std::string& name, v1::ElementType type, int64_t index,
                            const void* got, const void* want) {
  std::string text;
  VisitElementType(type, [&](auto element) {
    using T = decltype(element);
    const T g = Load<T>(got, index);
    const T w = Load<T>(want, index);
    if constexpr (std::is_integral_v<T>) {
      text = absl::StrCat(name, "[", index, "] is ", +g, ", expected ", +w);
    } else {
      text =
          absl::StrFormat("%s[%d] is %.9g, expected %.9g", name, index, AsDouble(g), AsDouble(w));
    }
  });
  return text;
}

}  // namespace whetstone
