#include "cpu_bench_worker/problem/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cpu_bench_worker/problem/element.h"

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
  // Bad elements are counted first without a branch (vectorised), and looked for only when
  // something is wrong. `right` is written so that a NaN anywhere makes the comparison false, and
  // so the element bad. Equal infinities are right: their difference is a NaN, so they are compared
  // by value too.
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

// Returns one field of `count` structs as an array by itself.
std::vector<char> FieldValues(const ElementLayout& element, size_t field, int64_t count,
                              const void* structs) {
  std::vector<char> values;
  VisitElementType(element.fields[field].type, [&](auto value) {
    values.resize(static_cast<size_t>(count) * sizeof value);
    const char* from = static_cast<const char*>(structs) + element.fields[field].offset;
    for (int64_t i = 0; i < count; ++i, from += element.bytes)
      std::memcpy(values.data() + i * static_cast<int64_t>(sizeof value), from, sizeof value);
  });
  return values;
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

Comparison CompareElements(const ElementLayout& element, const v1::Compare& rule, double slack,
                           int64_t count, const void* got, const void* want) {
  if (!element.is_struct())
    return CompareElements(element.fields[0].type, rule, slack, count, got, want);
  Comparison result;
  for (size_t f = 0; f < element.fields.size(); ++f) {
    result = CompareElements(element.fields[f].type, rule, slack, count,
                             FieldValues(element, f, count, got).data(),
                             FieldValues(element, f, count, want).data());
    result.field = f;
    if (!result.right) break;
  }
  return result;
}

std::string DescribeElement(const std::string& name, v1::ElementType type, int64_t index,
                            const void* got, const void* want) {
  Comparison at;
  at.first_bad = index;
  return DescribeElement(name, LayoutOf(type), at, got, want);
}

std::string DescribeElement(const std::string& name, const ElementLayout& element,
                            const Comparison& comparison, const void* got, const void* want) {
  const FieldLayout& field = element.fields[comparison.field];
  const auto at = comparison.first_bad * static_cast<int64_t>(element.bytes) +
                  static_cast<int64_t>(field.offset);
  const std::string what =
      absl::StrCat(name, "[", comparison.first_bad, "]", field.name.empty() ? "" : ".", field.name);
  std::string text;
  VisitElementType(field.type, [&](auto value) {
    using T = decltype(value);
    const T g = Load<T>(static_cast<const char*>(got) + at, 0);
    const T w = Load<T>(static_cast<const char*>(want) + at, 0);
    if constexpr (std::is_integral_v<T>) {
      text = absl::StrCat(what, " is ", +g, ", expected ", +w);
    } else {
      text = absl::StrFormat("%s is %.9g, expected %.9g", what, AsDouble(g), AsDouble(w));
    }
  });
  return text;
}

}  // namespace whetstone
