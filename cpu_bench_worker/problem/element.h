// The C++ types that hold a problem's elements (common/problem/element_type.h has their other
// facts).
#ifndef WHETSTONE_CPU_BENCH_WORKER_PROBLEM_ELEMENT_H_
#define WHETSTONE_CPU_BENCH_WORKER_PROBLEM_ELEMENT_H_

#include <bit>
#include <cstdint>

#include "common/problem/element_type.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// A bfloat16 as it lies in memory: the upper half of an IEEE float.
struct Bf16 {
  uint16_t bits;
};

inline float ToFloat(Bf16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

// Rounds to nearest, ties to even; a NaN stays one.
inline Bf16 ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return Bf16{static_cast<uint16_t>((bits >> 16) | 0x40)};
  return Bf16{static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16)};
}

// Calls `visit(T{})` with the C++ type that holds one element; no call when unspecified.
template <typename Visit>
void VisitElementType(v1::ElementType type, Visit&& visit) {
  switch (type) {
    case v1::F32:
      visit(float{});
      break;
    case v1::F64:
      visit(double{});
      break;
    case v1::BF16:
      visit(Bf16{});
      break;
    case v1::I8:
      visit(int8_t{});
      break;
    case v1::I16:
      visit(int16_t{});
      break;
    case v1::I32:
      visit(int32_t{});
      break;
    case v1::I64:
      visit(int64_t{});
      break;
    case v1::U8:
      visit(uint8_t{});
      break;
    case v1::U16:
      visit(uint16_t{});
      break;
    case v1::U32:
      visit(uint32_t{});
      break;
    case v1::U64:
      visit(uint64_t{});
      break;
    default:
      break;
  }
}

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_PROBLEM_ELEMENT_H_
