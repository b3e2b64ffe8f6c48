// Names the AVX2 (and FMA) instructions that the product kernels' bodies are written in;
// lanes_avx512.h has the same names, and those for bf16. Included by product_kernels_avx2.cc alone,
// which is compiled with AVX2 flags.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_LANES_AVX2_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_LANES_AVX2_H_

#include <immintrin.h>

#include <cstdint>

namespace whetstone::avx2 {
namespace {

using Wide = __m256;  // kWide floats
using Mask = __m256i;
constexpr int64_t kWide = 8;

// Tiles of the products: so many sums as the 16 registers hold beside the factors.
constexpr int kLinearRows = 3, kLinearColumns = 4;  // 12 sums, 3 activations, 1 weight
constexpr int kAttendRows = 3, kAttendVectors = 4;  // 12 sums, 3 queries, 1 vector
constexpr int kPanelRows = 6, kPanelVectors = 2;    // 12 sums, 2 vectors, 1 of a

inline Wide Zero() { return _mm256_setzero_ps(); }
inline Wide Splat(float x) { return _mm256_set1_ps(x); }
inline Wide Load(const float* p) { return _mm256_loadu_ps(p); }
inline void Store(float* p, Wide x) { _mm256_storeu_ps(p, x); }
// Stores x; returns what the type could not hold.
inline Wide StoreRest(float* p, Wide x) {
  Store(p, x);
  return Zero();
}
inline Wide Add(Wide a, Wide b) { return _mm256_add_ps(a, b); }
inline Wide Sub(Wide a, Wide b) { return _mm256_sub_ps(a, b); }
inline Wide Mul(Wide a, Wide b) { return _mm256_mul_ps(a, b); }
inline Wide MulAdd(Wide a, Wide b, Wide sum) { return _mm256_fmadd_ps(a, b, sum); }
inline Wide NegMulAdd(Wide a, Wide b, Wide sum) { return _mm256_fnmadd_ps(a, b, sum); }
inline Wide Max(Wide a, Wide b) { return _mm256_max_ps(a, b); }
inline Wide RoundToInteger(Wide x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// Returns x * 2^n for whole n up to 127; 0 for n below -126.
inline Wide TimesPowerOf2(Wide x, Wide n) {
  const __m256i exponent = _mm256_cvtps_epi32(_mm256_max_ps(n, Splat(-127)));
  return _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(
                              _mm256_add_epi32(exponent, _mm256_set1_epi32(127)), 23)));
}
inline float FirstLane(Wide x) { return _mm256_cvtss_f32(x); }
inline float MaxLane(Wide x) {
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}
inline float SumLanes(Wide x) {
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

// First(n) is the first n lanes; n may be negative or more than there are.
inline Mask First(int64_t n) {
  const int count = n >= kWide ? kWide : n <= 0 ? 0 : static_cast<int>(n);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline Wide Select(Mask mask, Wide x, Wide otherwise) {
  return _mm256_blendv_ps(otherwise, x, _mm256_castsi256_ps(mask));
}
inline Wide LoadFirst(const float* p, Mask mask) { return _mm256_maskload_ps(p, mask); }
inline void StoreFirst(float* p, Mask mask, Wide x) { _mm256_maskstore_ps(p, mask, x); }

// Returns the sums of kLinearColumns vectors, each added up in the same order.
using ColumnSums = __m128;
inline ColumnSums SumColumns(const Wide* v) {
  const __m256d a = _mm256_castps_pd(
      _mm256_add_ps(_mm256_unpacklo_ps(v[0], v[1]), _mm256_unpackhi_ps(v[0], v[1])));
  const __m256d b = _mm256_castps_pd(
      _mm256_add_ps(_mm256_unpacklo_ps(v[2], v[3]), _mm256_unpackhi_ps(v[2], v[3])));
  const __m256 halves = _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(a, b)),
                                      _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)));
  return _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
}
inline ColumnSums NoColumns() { return _mm_setzero_ps(); }
inline ColumnSums AddColumns(ColumnSums a, ColumnSums b) { return _mm_add_ps(a, b); }
// Loads or stores the first n (1 to kLinearColumns).
inline ColumnSums LoadColumns(const float* p, int64_t n) {
  return _mm_maskload_ps(p, _mm256_castsi256_si128(First(n)));
}
inline void StoreColumns(float* p, int64_t n, ColumnSums sums) {
  if (n == kLinearColumns) return _mm_storeu_ps(p, sums);  // what is masked takes long
  _mm_maskstore_ps(p, _mm256_castsi256_si128(First(n)), sums);
}

// Factors<T> are vectors of what one instruction multiplies: kWide floats.
template <typename T>
struct Factors;
template <>
struct Factors<float> {
  using Vector = __m256;
  static constexpr int64_t kCount = 8, kPair = 1;
  static Vector Load(const float* p) { return _mm256_loadu_ps(p); }
  static Vector LoadFirst(const float* p, Mask mask) { return _mm256_maskload_ps(p, mask); }
  static Vector LoadCount(const float* p, int64_t n) { return _mm256_maskload_ps(p, First(n)); }
  static Vector Splat(const float* p) { return _mm256_set1_ps(*p); }
  static Wide MulAdd(Wide sum, Vector a, Vector b) { return _mm256_fmadd_ps(a, b, sum); }
};

}  // namespace
}  // namespace whetstone::avx2

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_LANES_AVX2_H_
