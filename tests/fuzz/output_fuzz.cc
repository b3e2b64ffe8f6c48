// The input is the output region after a hostile program had it: any bytes. Reading them never
// fails; guards count as intact only if they are; a wrong element, and a NaN above all, is never
// right.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "common/status_macros.h"
#include "cpu_bench_worker/problem/arguments.h"
#include "cpu_bench_worker/problem/call_batch.h"
#include "cpu_bench_worker/problem/compare.h"
#include "cpu_bench_worker/problem/element.h"

namespace whetstone {
namespace {

constexpr int kElements = 9;

// Case is one output array of a type.
struct Case {
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  v1::Problem problem;
  Arguments arguments;
  CallShape shape;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case>* const cases = [] {
    auto* made = new std::vector<Case>;
    for (int type = v1::ElementType_MIN + 1; type <= v1::ElementType_MAX; ++type) {
      if (!v1::ElementType_IsValid(type)) continue;
      Case c;
      c.type = static_cast<v1::ElementType>(type);
      v1::Argument& n = *c.problem.add_args();
      n.set_name("n");
      n.set_size("n");
      v1::Argument& out = *c.problem.add_args();
      out.set_name("y");
      out.mutable_array()->set_type(static_cast<v1::ElementType>(type));
      out.mutable_array()->add_shape("n");
      out.mutable_array()->set_direction(v1::Array::OUT);
      v1::SizePoint point;
      (*point.mutable_values())["n"] = kElements;
      absl::StatusOr<Arguments> arguments = Arguments::Parse(c.problem);
      CHECK(arguments.ok());
      c.arguments = *std::move(arguments);
      absl::StatusOr<CallShape> shape = c.arguments.At(point);
      CHECK(shape.ok());
      c.shape = *std::move(shape);
      made->push_back(std::move(c));
    }
    return made;
  }();
  return *cases;
}

// Any rule must agree with these: `same` elements are equal and none is a NaN.
struct Facts {
  bool has_nan = false;
  bool equal = true;
};

template <typename T>
Facts FactsOf(const char* got, const char* want) {
  Facts facts;
  for (int i = 0; i < kElements; ++i) {
    T a, b;
    std::memcpy(&a, got + i * sizeof(T), sizeof(T));
    std::memcpy(&b, want + i * sizeof(T), sizeof(T));
    if constexpr (std::is_integral_v<T>) {
      facts.equal = facts.equal && a == b;
    } else {
      const auto value = [](T x) {
        if constexpr (std::is_same_v<T, Bf16>) {
          return ToFloat(x);
        } else {
          return x;
        }
      };
      facts.has_nan = facts.has_nan || std::isnan(value(a)) || std::isnan(value(b));
      facts.equal = facts.equal && value(a) == value(b);
    }
  }
  return facts;
}

// Byte 0 is type and rule; byte 1 says where the rest goes in the region.
void Check(const uint8_t* data, size_t size) {
  const Case& c = Cases()[data[0] % Cases().size()];
  CallBatch batch(&c.arguments, c.shape, /*calls=*/2,
                  {.seed = data[0], .unaligned = size % 2 == 1});
  batch.Fill(/*key=*/7, FillStyle::kPlain);
  std::string got = batch.outputs();
  const size_t at = std::min<size_t>(data[1] * size_t{8}, got.size());
  std::memcpy(got.data() + at, data + 2, std::min(size - 2, got.size() - at));

  // Outside the arrays nothing may have changed.
  std::string rest_before = batch.outputs(), rest_after = got;
  for (int call = 0; call < batch.calls(); ++call) {
    for (size_t word = 0; word < batch.words().size(); ++word) {
      if (batch.words()[word].place != WordPlace::kOutput) continue;
      for (std::string* region : {&rest_before, &rest_after}) {
        std::memset(region->data() + batch.offset(call, word), 0, batch.words()[word].bytes);
      }
    }
  }
  CHECK(batch.GuardsIntact(got.data()) == (rest_before == rest_after));

  // The second call's array is compared with the first one's.
  size_t word = 0;
  while (batch.words()[word].place != WordPlace::kOutput) ++word;
  const char* const a = got.data() + batch.offset(0, word);
  const char* const b = got.data() + batch.offset(1, word);
  v1::Compare rule;
  rule.set_rule(static_cast<v1::Compare::Rule>(1 + data[0] / Cases().size() % 3));
  rule.set_rtol(1e-3);
  rule.set_atol(1e-6);
  const Comparison found = CompareElements(c.type, rule, 1, kElements, a, b);
  CHECK(found.right == (found.bad == 0) && found.right == (found.first_bad < 0));
  CHECK(found.first_bad < kElements && found.bad <= kElements);
  Facts facts;
  VisitElementType(c.type, [&]<typename T>(T) { facts = FactsOf<T>(a, b); });
  CHECK(!(facts.has_nan && found.right));
  CHECK(!facts.equal || facts.has_nan || found.right);
  const bool tolerant = rule.rule() != v1::Compare::EXACT &&
                        (c.type == v1::F32 || c.type == v1::F64 || c.type == v1::BF16);
  CHECK(facts.equal || tolerant || !found.right);
  CHECK(found.right || !DescribeElement("y", c.type, found.first_bad, a, b).empty());
}

}  // namespace
}  // namespace whetstone

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size >= 2) whetstone::Check(data, size);
  return 0;
}
