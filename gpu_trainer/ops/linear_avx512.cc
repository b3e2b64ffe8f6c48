// Compiled with AVX-512 flags: include nothing here that defines shared inline functions.
#include "gpu_trainer/ops/linear_avx512.h"

#include <immintrin.h>

namespace whetstone {
namespace {

// 3 x 8 accumulators, 3 activations and 1 weight: 28 of the 32 registers. Eight columns, so that
// the sums of a row are stored at once.
constexpr int kTileRows = 3;
constexpr int kTileColumns = 8;
// Rows of x that stay in the first-level cache while the weights stream past.
constexpr int64_t kBlockRows = 48;

struct Bf16Lanes {
  static constexpr int64_t kStep = 32;
  using Vector = __m512bh;
  static Vector Load(const Bf16* p) { return (__m512bh)_mm512_loadu_si512(p); }
  static Vector LoadTail(const Bf16* p, int64_t n) {
    return (__m512bh)_mm512_maskz_loadu_epi16((__mmask32)((uint64_t{1} << n) - 1), p);
  }
  static __m512 Add(__m512 sum, Vector a, Vector b) { return _mm512_dpbf16_ps(sum, a, b); }
};

struct FloatLanes {
  static constexpr int64_t kStep = 16;
  using Vector = __m512;
  static Vector Load(const float* p) { return _mm512_loadu_ps(p); }
  static Vector LoadTail(const float* p, int64_t n) {
    return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
  }
  static __m512 Add(__m512 sum, Vector a, Vector b) { return _mm512_fmadd_ps(a, b, sum); }
};

template <typename In>
struct LanesOf;
template <>
struct LanesOf<Bf16> {
  using Type = Bf16Lanes;
};
template <>
struct LanesOf<float> {
  using Type = FloatLanes;
};

// The sums of eight vectors. Each is added up in the same order: within its quarters, then the
// quarters.
inline __m256 SumEight(const __m512* v) {
  __m512 pairs[4], quads[2];
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

// Writes the first `n` (1 to 8) of eight sums.
inline void StoreEight(__m256 sums, float* to, int64_t n) {
  _mm256_mask_storeu_ps(to, (__mmask8)((1u << n) - 1), sums);
}
inline __m256 LoadEight(const float* from, int64_t n) {
  return _mm256_maskz_loadu_ps((__mmask8)((1u << n) - 1), from);
}
inline __m256 LoadEight(const Bf16* from, int64_t n) {
  const __m128i bits = _mm_maskz_loadu_epi16((__mmask8)((1u << n) - 1), from);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

// y[row … row + kRows) x [column … column + columns), 1 <= columns <= 8.
// Meanwhile asks for weights: of kPrefetch (0, 1, 2) columns from `ahead`, or of the eight next
// (8). The hardware alone follows eight streams too late (10 against 17 GB/s on one core).
template <int kRows, int kPrefetch, typename In, typename Out>
inline void Tile(const LinearArgs<In, Out>& args, int64_t row, int64_t column, int64_t columns,
                 const In* ahead = nullptr) {
  using Lanes = typename LanesOf<In>::Type;
  const int64_t k = args.k;
  const In* x = args.x + row * k;
  const In* w[kTileColumns];
  // Past the last column its neighbour is computed again and not stored.
  for (int64_t c = 0; c < kTileColumns; ++c) {
    w[c] = args.w + (column + (c < columns ? c : columns - 1)) * k;
  }
  __m512 sum[kRows][kTileColumns];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kTileColumns; ++c) sum[r][c] = _mm512_setzero_ps();
  }
  int64_t i = 0;
  for (; i + Lanes::kStep <= k; i += Lanes::kStep) {
    typename Lanes::Vector a[kRows];
    if (kPrefetch == 1 || kPrefetch == 2) _mm_prefetch((const char*)(ahead + i), _MM_HINT_T0);
    if (kPrefetch == 2) _mm_prefetch((const char*)(ahead + k + i), _MM_HINT_T0);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) a[r] = Lanes::Load(x + r * k + i);
#pragma GCC unroll 8
    for (int c = 0; c < kTileColumns; ++c) {
      const typename Lanes::Vector weight = Lanes::Load(w[c] + i);
      if (kPrefetch == 8) _mm_prefetch((const char*)(w[c] + kTileColumns * k + i), _MM_HINT_T0);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sum[r][c] = Lanes::Add(sum[r][c], a[r], weight);
    }
  }
  if (i < k) {
    typename Lanes::Vector a[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) a[r] = Lanes::LoadTail(x + r * k + i, k - i);
#pragma GCC unroll 8
    for (int c = 0; c < kTileColumns; ++c) {
      const typename Lanes::Vector weight = Lanes::LoadTail(w[c] + i, k - i);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sum[r][c] = Lanes::Add(sum[r][c], a[r], weight);
    }
  }
  const __m256 bias =
      args.bias == nullptr ? _mm256_setzero_ps() : LoadEight(args.bias + column, columns);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    StoreEight(_mm256_add_ps(SumEight(sum[r]), bias), args.y + (row + r) * args.n + column,
               columns);
  }
}

// Rows [row, end) of one run of columns, few: the first tile asks for all of the next weights.
template <typename In, typename Out>
inline void FirstPrefetches(const LinearArgs<In, Out>& args, int64_t row, int64_t end,
                            int64_t column, int64_t columns) {
  if (end - row >= kTileRows) {
    Tile<kTileRows, 8>(args, row, column, columns);
    row += kTileRows;
  }
  for (; end - row >= kTileRows; row += kTileRows) {
    Tile<kTileRows, 0>(args, row, column, columns);
  }
  if (end - row == 2) Tile<2, 8>(args, row, column, columns);
  if (end - row == 1) Tile<1, 8>(args, row, column, columns);
}

// The same for at least 8 / kPrefetch tiles, each of which asks for its share, so that memory is
// busy all the time and not only during the first one.
template <int kPrefetch, typename In, typename Out>
inline void SharedPrefetch(const LinearArgs<In, Out>& args, int64_t row, int64_t end,
                           int64_t column, int64_t columns) {
  const In* ahead = args.w + (column + kTileColumns) * args.k;
  for (; end - row >= kTileRows; row += kTileRows, ahead += kPrefetch * args.k) {
    Tile<kTileRows, kPrefetch>(args, row, column, columns, ahead);
  }
  if (end - row == 2) Tile<2, 0>(args, row, column, columns);
  if (end - row == 1) Tile<1, 0>(args, row, column, columns);
}

template <typename In, typename Out>
void Columns(const LinearArgs<In, Out>& args, int64_t n_begin, int64_t n_end) {
  for (int64_t block = 0; block < args.rows; block += kBlockRows) {
    const int64_t end = block + kBlockRows < args.rows ? block + kBlockRows : args.rows;
    for (int64_t column = n_begin; column < n_end; column += kTileColumns) {
      const int64_t columns = n_end - column < kTileColumns ? n_end - column : kTileColumns;
      const int64_t tiles = (end - block) / kTileRows;
      if (tiles >= 8) {
        SharedPrefetch<1>(args, block, end, column, columns);
      } else if (tiles >= 4) {
        SharedPrefetch<2>(args, block, end, column, columns);
      } else {
        FirstPrefetches(args, block, end, column, columns);
      }
    }
  }
}

}  // namespace

void LinearColumns(const LinearArgs<Bf16, float>& args, int64_t n_begin, int64_t n_end) {
  Columns(args, n_begin, n_end);
}
void LinearColumns(const LinearArgs<float, float>& args, int64_t n_begin, int64_t n_end) {
  Columns(args, n_begin, n_end);
}

}  // namespace whetstone
