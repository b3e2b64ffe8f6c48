// Names the AVX-512 (BF16) instructions that the product kernels' bodies are written in;
// lanes_avx2.h has the same names, without those for bf16. Included by product_kernels_avx512.cc
// alone, which is compiled with AVX-512 flags.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_LANES_AVX512_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_LANES_AVX512_H_

#include <immintrin.h>

#include <cstdint>

#include "gpu_trainer/kernels/cpu/bf16.h"

namespace whetstone::avx512 {
namespace {

using Wide = __m512;  // kWide floats
using Mask = __mmask16;
constexpr int64_t kWide = 16;

// Tiles of the products: so many sums as the 32 registers hold beside the factors.
constexpr int kLinearRows = 3, kLinearColumns = 8;  // 24 sums, 3 activations, 1 weight
constexpr int kAttendRows = 6, kAttendVectors = 4;  // 24 sums, 6 queries, 1 vector
constexpr int kPanelRows = 6, kPanelVectors = 4;    // 24 sums, 4 vectors, 1 of a

inline Wide Zero() { return _mm512_setzero_ps(); }
inline Wide Splat(float x) { return _mm512_set1_ps(x); }
inline Wide Load(const float* p) { return _mm512_loadu_ps(p); }
inline void Store(float* p, Wide x) { _mm512_storeu_ps(p, x); }
inline Wide StoreRest(float* p, Wide x) {
  Store(p, x);
  return Zero();
}
inline Wide Add(Wide a, Wide b) { return _mm512_add_ps(a, b); }
inline Wide Sub(Wide a, Wide b) { return _mm512_sub_ps(a, b); }
inline Wide Mul(Wide a, Wide b) { return _mm512_mul_ps(a, b); }
inline Wide MulAdd(Wide a, Wide b, Wide sum) { return _mm512_fmadd_ps(a, b, sum); }
inline Wide NegMulAdd(Wide a, Wide b, Wide sum) { return _mm512_fnmadd_ps(a, b, sum); }
inline Wide Max(Wide a, Wide b) { return _mm512_max_ps(a, b); }
inline Wide RoundToInteger(Wide x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// Returns x * 2^n for whole n.
inline Wide TimesPowerOf2(Wide x, Wide n) { return _mm512_scalef_ps(x, n); }
inline float MaxLane(Wide x) { return _mm512_reduce_max_ps(x); }
inline float SumLanes(Wide x) { return _mm512_reduce_add_ps(x); }
inline float FirstLane(Wide x) { return _mm512_cvtss_f32(x); }

// First(n) is the first n lanes; n may be negative or more than there are.
inline Mask First(int64_t n) {
  return n >= kWide ? 0xffff : n <= 0 ? 0 : static_cast<Mask>((1u << n) - 1);
}
inline Wide Select(Mask mask, Wide x, Wide otherwise) {
  return _mm512_mask_mov_ps(otherwise, mask, x);
}
inline Wide LoadFirst(const float* p, Mask mask) { return _mm512_maskz_loadu_ps(mask, p); }
inline void StoreFirst(float* p, Mask mask, Wide x) { _mm512_mask_storeu_ps(p, mask, x); }

// Returns the sums of kLinearColumns vectors. Each is added up in the same order: within its
// quarters, then the quarters.
using ColumnSums = __m256;
inline ColumnSums SumColumns(const Wide* v) {
  Wide pairs[4], quads[2];
  for (int i = 0; i < 4; ++i) {
    pairs[i] = _mm512_add_ps(_mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]),
                             _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]));
  }
  for (int i = 0; i < 2; ++i) {
    const __m512d a = _mm512_castps_pd(pairs[2 * i]), b = _mm512_castps_pd(pairs[2 * i + 1]);
    quads[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),
                             _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
  }
  __m128 sums[2];
  for (int i = 0; i < 2; ++i) {
    const __m256 half =
        _mm256_add_ps(_mm512_castps512_ps256(quads[i]), _mm512_extractf32x8_ps(quads[i], 1));
    sums[i] = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  }
  return _mm256_set_m128(sums[1], sums[0]);
}
inline ColumnSums NoColumns() { return _mm256_setzero_ps(); }
inline ColumnSums AddColumns(ColumnSums a, ColumnSums b) { return _mm256_add_ps(a, b); }
// Loads or stores the first n (1 to kLinearColumns).
inline ColumnSums LoadColumns(const float* p, int64_t n) {
  return _mm256_maskz_loadu_ps((__mmask8)((1u << n) - 1), p);
}
inline ColumnSums LoadColumns(const Bf16* p, int64_t n) {
  const __m128i bits = _mm_maskz_loadu_epi16((__mmask8)((1u << n) - 1), p);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
inline void StoreColumns(float* p, int64_t n, ColumnSums sums) {
  _mm256_mask_storeu_ps(p, (__mmask8)((1u << n) - 1), sums);
}

// Factors<T> are vectors of what one instruction multiplies: kWide floats, or as many pairs of
// bf16.
template <typename T>
struct Factors;
template <>
struct Factors<float> {
  using Vector = __m512;
  static constexpr int64_t kCount = 16, kPair = 1;
  static Vector Load(const float* p) { return _mm512_loadu_ps(p); }
  static Vector LoadFirst(const float* p, Mask mask) { return _mm512_maskz_loadu_ps(mask, p); }
  static Vector LoadCount(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(First(n), p); }
  static Vector Splat(const float* p) { return _mm512_set1_ps(*p); }
  static Wide MulAdd(Wide sum, Vector a, Vector b) { return _mm512_fmadd_ps(a, b, sum); }
};
struct PairFactors {
  using Vector = __m512bh;
  static constexpr int64_t kCount = 32, kPair = 2;
  static Vector Load(const void* p) { return (Vector)_mm512_loadu_si512(p); }
  // Loads the pairs of the mask.
  static Vector LoadFirst(const void* p, Mask mask) {
    return (Vector)_mm512_maskz_loadu_epi32(mask, p);
  }
  // Loads n (< kCount) numbers.
  static Vector LoadCount(const void* p, int64_t n) {
    return (Vector)_mm512_maskz_loadu_epi16((__mmask32)((uint64_t{1} << n) - 1), p);
  }
  static Vector Splat(const void* p) {
    int32_t pair;
    __builtin_memcpy(&pair, p, sizeof(pair));
    return (Vector)_mm512_set1_epi32(pair);
  }
  static Wide MulAdd(Wide sum, Vector a, Vector b) { return _mm512_dpbf16_ps(sum, a, b); }
};
template <>
struct Factors<Bf16> : PairFactors {};
template <>
struct Factors<uint16_t> : PairFactors {};

// Halves are kWide numbers of bf16.
using Halves = __m256i;
inline Halves ToHalves(Wide x) { return (__m256i)_mm512_cvtneps_pbh(x); }
inline Wide ToWide(Halves x) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}
inline Halves LoadHalves(const void* p, Mask mask) { return _mm256_maskz_loadu_epi16(mask, p); }
inline void StoreHalves(void* p, Halves x) { _mm256_storeu_si256((__m256i*)p, x); }
inline void Store(uint16_t* p, Wide x) { StoreHalves(p, ToHalves(x)); }
inline Wide LoadFirst(const uint16_t* p, Mask mask) { return ToWide(LoadHalves(p, mask)); }
inline void StoreFirst(uint16_t* p, Mask mask, Wide x) {
  _mm256_mask_storeu_epi16(p, mask, ToHalves(x));
}
// Stores x; returns what the type could not hold.
inline Wide StoreRest(Bf16* p, Wide x) {
  const Halves halves = ToHalves(x);
  StoreHalves(p, halves);
  return Sub(x, ToWide(halves));
}
// Stores kWide columns of two rows, a column's pair together.
inline void StorePairs(void* p, Mask mask, Halves first, Halves second) {
  const __m512i high = _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16);
  _mm512_mask_storeu_epi32(p, mask, _mm512_or_si512(_mm512_cvtepu16_epi32(first), high));
}

}  // namespace
}  // namespace whetstone::avx512

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_LANES_AVX512_H_
