// Bf16 is bfloat16 as 16 plain bits, for kernels that see no LibTorch header.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_BF16_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_BF16_H_

#include <cstdint>
#include <cstring>

namespace whetstone {

struct Bf16 {
  uint16_t bits;
};

static inline float ToFloat(Bf16 x) {
  const uint32_t wide = static_cast<uint32_t>(x.bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}
static inline float ToFloat(float x) { return x; }

// Rounds to nearest, ties to even, as LibTorch does; NaN stays NaN.
static inline Bf16 ToBf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fc0};
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

static inline void StoreFloat(float x, float* to) { *to = x; }
static inline void StoreFloat(float x, Bf16* to) { *to = ToBf16(x); }

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_BF16_H_
