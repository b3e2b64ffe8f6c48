// This file is compiled with AVX-512 flags: include nothing here that defines shared inline
// functions.
#include "gpu_trainer/kernels/cpu/linear_avx512.h"

#include <immintrin.h>

namespace whetstone {
namespace {

// 3 x 8 accumulators, 3 activations and 1 weight take 28 of the 32 registers. Eight columns let the
// sums of a row be stored at once.
constexpr int kTileRows = 3;
constexpr int kTileColumns = 8;
// So many rows of x stay in the first-level cache while the weights stream past.
constexpr int64_t kBlockRows = 48;
// So many bytes of each of eight columns stay in the first-level cache while all rows pass.
constexpr int64_t kStretchBytes = 2048;

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

// Returns the sums of eight vectors. Each is added up in the same order: within its quarters, then
// the quarters.
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

// Place says where a tile is: rows [row, row + kRows), columns [column, column + columns), 1 <=
// columns <= 8, and its stretch [begin, end) of k.
struct Place {
  int64_t row, column, columns;
  int64_t begin, end;
};

// Adds a stretch of k to the tile's sums. They start at zero with k's first stretch, wait in
// `carry` ([kTileRows][kTileColumns]) between two, and go to y after the last.
// Meanwhile asks for weights: of kPrefetch (0, 1, 2) columns from `ahead`, or of the eight next
// (8). The hardware alone follows eight streams too late (10 against 17 GB/s on one core).
template <int kRows, int kPrefetch, bool kStretches, typename In, typename Out>
inline void Tile(const LinearArgs<In, Out>& args, const Place& at, __m512* carry,
                 const In* ahead = nullptr) {
  using Lanes = typename LanesOf<In>::Type;
  const int64_t k = args.k;
  const In* x = args.x + at.row * k;
  const In* w[kTileColumns];
  // A column past the last is its neighbour, computed again and not stored.
  for (int64_t c = 0; c < kTileColumns; ++c) {
    w[c] = args.w + (at.column + (c < at.columns ? c : at.columns - 1)) * k;
  }
  __m512 sum[kRows][kTileColumns];
  if (!kStretches || at.begin == 0) {
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < kTileColumns; ++c) sum[r][c] = _mm512_setzero_ps();
    }
  } else {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int c = 0; c < kTileColumns; ++c) sum[r][c] = carry[r * kTileColumns + c];
    }
  }
  int64_t i = at.begin;
  for (; i + Lanes::kStep <= at.end; i += Lanes::kStep) {
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
  if (kStretches && at.end < k) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int c = 0; c < kTileColumns; ++c) carry[r * kTileColumns + c] = sum[r][c];
    }
    return;
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
      args.bias == nullptr ? _mm256_setzero_ps() : LoadEight(args.bias + at.column, at.columns);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    StoreEight(_mm256_add_ps(SumEight(sum[r]), bias), args.y + (at.row + r) * args.n + at.column,
               at.columns);
  }
}

// Computes rows [at.row, end), few: the first tile asks for all of the next columns' weights.
template <bool kStretches, typename In, typename Out>
inline void FirstPrefetches(const LinearArgs<In, Out>& args, Place at, int64_t end, __m512* carry) {
  constexpr int kSums = kTileRows * kTileColumns;
  if (end - at.row >= kTileRows) {
    Tile<kTileRows, 8, kStretches>(args, at, carry);
    at.row += kTileRows, carry += kSums;
  }
  for (; end - at.row >= kTileRows; at.row += kTileRows, carry += kSums) {
    Tile<kTileRows, 0, kStretches>(args, at, carry);
  }
  if (end - at.row == 2) Tile<2, 8, kStretches>(args, at, carry);
  if (end - at.row == 1) Tile<1, 8, kStretches>(args, at, carry);
}

// Does the same for at least 8 / kPrefetch tiles, each of which asks for its share, so that memory
// is busy all the time and not only during the first one.
template <int kPrefetch, bool kStretches, typename In, typename Out>
inline void SharedPrefetch(const LinearArgs<In, Out>& args, Place at, int64_t end, __m512* carry) {
  constexpr int kSums = kTileRows * kTileColumns;
  const In* ahead = args.w + (at.column + kTileColumns) * args.k;
  for (; end - at.row >= kTileRows; at.row += kTileRows, carry += kSums) {
    Tile<kTileRows, kPrefetch, kStretches>(args, at, carry, ahead);
    ahead += kPrefetch * args.k;
  }
  if (end - at.row == 2) Tile<2, 0, kStretches>(args, at, carry);
  if (end - at.row == 1) Tile<1, 0, kStretches>(args, at, carry);
}

// Computes the tiles of eight columns over one stretch.
template <bool kStretches, typename In, typename Out>
inline void Rows(const LinearArgs<In, Out>& args, const Place& at, int64_t end, __m512* carry) {
  const int64_t tiles = (end - at.row) / kTileRows;
  if (tiles >= 8) {
    SharedPrefetch<1, kStretches>(args, at, end, carry);
  } else if (tiles >= 4) {
    SharedPrefetch<2, kStretches>(args, at, end, carry);
  } else {
    FirstPrefetches<kStretches>(args, at, end, carry);
  }
}

template <typename In, typename Out>
void Columns(const LinearArgs<In, Out>& args, int64_t n_begin, int64_t n_end) {
  constexpr int64_t kStretch = kStretchBytes / (int64_t)sizeof(In);
  alignas(64) __m512 carry[kBlockRows * kTileColumns];
  for (int64_t block = 0; block < args.rows; block += kBlockRows) {
    const int64_t end = block + kBlockRows < args.rows ? block + kBlockRows : args.rows;
    for (int64_t column = n_begin; column < n_end; column += kTileColumns) {
      Place at = {block, column, n_end - column < kTileColumns ? n_end - column : kTileColumns, 0,
                  args.k};
      // Up to two stretches are done as one. So are few rows, which read the weights once or twice:
      // they have nothing to gain.
      if (args.k < 2 * kStretch || end - block <= kTileRows) {
        Rows<false>(args, at, end, carry);
        continue;
      }
      for (; at.begin < args.k; at.begin = at.end) {
        // A short rest goes with the last stretch.
        at.end = args.k - at.begin < 2 * kStretch ? args.k : at.begin + kStretch;
        Rows<true>(args, at, end, carry);
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
