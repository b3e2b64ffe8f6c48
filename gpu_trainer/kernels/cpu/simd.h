// The SIMD loops of row_kernels_body.h take a register of floats at a time (sixteen of AVX-512,
// eight of AVX2, four of SSE), by GCC's vector extension. Vectors longer than a register would do
// for arithmetic, but comparisons of them are taken apart lane by lane (GCC 12). Values live in
// float; memory holds float or bf16 (as uint16_t).
//
// Everything is inlined by force: the including file is compiled for several instruction sets, and
// no function of one may be linked into another.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_SIMD_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_SIMD_H_

#include <cstdint>
#include <cstring>

namespace whetstone::simd {

#define WHETSTONE_INLINE inline __attribute__((always_inline))

// Not inline: it differs between the instruction sets.
#if defined(__AVX512F__)
constexpr int64_t kLanes = 16;
#elif defined(__AVX2__)
constexpr int64_t kLanes = 8;
#else
constexpr int64_t kLanes = 4;
#endif
using V = float __attribute__((vector_size(4 * kLanes)));
using VI = int32_t __attribute__((vector_size(4 * kLanes)));
using VU16 = uint16_t __attribute__((vector_size(2 * kLanes)));

WHETSTONE_INLINE V Splat(float x) { return V{} + x; }

WHETSTONE_INLINE float ToFloat(float x) { return x; }
WHETSTONE_INLINE float ToFloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float x;
  std::memcpy(&x, &wide, sizeof(x));
  return x;
}

WHETSTONE_INLINE V Load(const float* p) {
  V x;
  std::memcpy(&x, p, sizeof(x));
  return x;
}
WHETSTONE_INLINE V Load(const uint16_t* p) {
  VU16 bits;
  std::memcpy(&bits, p, sizeof(bits));
  const VI wide = __builtin_convertvector(bits, VI) << 16;
  V x;
  std::memcpy(&x, &wide, sizeof(x));
  return x;
}

// Rounds to nearest even; NaN stays NaN.
WHETSTONE_INLINE VU16 ToBf16(V x) {
  VI bits;
  std::memcpy(&bits, &x, sizeof(bits));
  const VI rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const VI is_nan = x != x;
  return __builtin_convertvector((is_nan & 0x7fc0) | (~is_nan & rounded), VU16);
}
WHETSTONE_INLINE void Store(float* p, V x) { std::memcpy(p, &x, sizeof(x)); }
WHETSTONE_INLINE void Store(uint16_t* p, V x) {
  const VU16 bits = ToBf16(x);
  std::memcpy(p, &bits, sizeof(bits));
}

// Loads the first n (< kLanes) lanes; the others read as `fill`.
template <typename T>
WHETSTONE_INLINE V LoadPart(const T* p, int64_t n, float fill = 0) {
  V x = Splat(fill);
  for (int64_t i = 0; i < n; ++i) x[i] = ToFloat(p[i]);
  return x;
}
template <typename T>
WHETSTONE_INLINE void StorePart(T* p, V x, int64_t n) {
  T all[kLanes];
  Store(all, x);
  for (int64_t i = 0; i < n; ++i) p[i] = all[i];
}

// The order of additions is fixed: a sum has the same bits wherever one instruction set computes
// it.
WHETSTONE_INLINE float Sum(V x) {
  float lanes[kLanes];
  std::memcpy(lanes, &x, sizeof(lanes));
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}
WHETSTONE_INLINE V Max(V a, V b) { return a > b ? a : b; }
WHETSTONE_INLINE float MaxLane(V x) {
  float most = x[0];
  for (int64_t i = 1; i < kLanes; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

// Returns e^x to 2 units in the last place for x in [-87, 88]; below it 0. (Cephes' polynomial.)
WHETSTONE_INLINE V Exp(V x) {
  const V clamped = Max(x, Splat(-87.0f));
  // Adding 1.5 * 2^23 rounds to an integer.
  constexpr float kShift = 12582912.0f;
  const V shifted = clamped * 1.44269504088896341f + kShift;
  const V n = shifted - kShift;
  const V r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;
  V p = Splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const VI exponent = (__builtin_convertvector(n, VI) + 127) << 23;
  V scale;
  std::memcpy(&scale, &exponent, sizeof(scale));
  return x < Splat(-87.0f) ? V{} : p * scale;
}

}  // namespace whetstone::simd

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_SIMD_H_
