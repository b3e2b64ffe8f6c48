// The body of DecodeKernels::linear_columns, for the instruction set WHETSTONE_ISA.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_LINEAR_BODY_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_LINEAR_BODY_H_

#include "gpu_trainer/kernels/cpu/decode_linear.h"

namespace whetstone::WHETSTONE_ISA {
namespace decode_linear {
namespace {

// So many rows of x stay in the first-level cache while the weights stream past.
constexpr int64_t kBlockRows = 48;
static_assert(kLinearRows == 3 && kBlockRows % kLinearRows == 0);  // Rests of 1 and 2 are taken.
// So many bytes of each of a tile's columns stay in the first-level cache while all rows pass.
constexpr int64_t kStretchBytes = 2048;

// Place says where a tile is: rows [row, row + kRows), columns [column, column + columns), 1 <=
// columns <= kLinearColumns, and its stretch [begin, end) of k.
struct Place {
  int64_t row, column, columns;
  int64_t begin, end;
};

// Adds a stretch of k to the tile's sums. They start at zero with k's first stretch, wait in
// `carry` ([kLinearRows][kLinearColumns]) between two, and go to y after the last.
// Meanwhile asks for weights: of kPrefetch (0, 1, 2) columns from `ahead`, or of as many next ones
// as a tile has (kAll). The hardware alone follows eight streams too late (10 against 17 GB/s on
// one core).
constexpr int kAll = kLinearColumns;
static_assert(kAll > 2);
template <int kRows, int kPrefetch, bool kStretches, typename In>
inline void Tile(const LinearArgs<In>& args, const Place& at, Wide* carry,
                 const In* ahead = nullptr) {
  using F = Factors<In>;
  const int64_t k = args.k;
  const In* x = args.x + at.row * k;
  const In* w[kLinearColumns];
  // A column past the last is its neighbour, computed again and not stored.
  for (int64_t c = 0; c < kLinearColumns; ++c) {
    w[c] = args.w + (at.column + (c < at.columns ? c : at.columns - 1)) * k;
  }
  Wide sum[kRows][kLinearColumns];
  if (!kStretches || at.begin == 0) {
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < kLinearColumns; ++c) sum[r][c] = Zero();
    }
  } else {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int c = 0; c < kLinearColumns; ++c) sum[r][c] = carry[r * kLinearColumns + c];
    }
  }
  int64_t i = at.begin;
  for (; i + F::kCount <= at.end; i += F::kCount) {
    typename F::Vector a[kRows];
    if (kPrefetch == 1 || kPrefetch == 2) _mm_prefetch((const char*)(ahead + i), _MM_HINT_T0);
    if (kPrefetch == 2) _mm_prefetch((const char*)(ahead + k + i), _MM_HINT_T0);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) a[r] = F::Load(x + r * k + i);
#pragma GCC unroll 8
    for (int c = 0; c < kLinearColumns; ++c) {
      const typename F::Vector weight = F::Load(w[c] + i);
      if (kPrefetch == kAll)
        _mm_prefetch((const char*)(w[c] + kLinearColumns * k + i), _MM_HINT_T0);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sum[r][c] = F::MulAdd(sum[r][c], a[r], weight);
    }
  }
  if (kStretches && at.end < k) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int c = 0; c < kLinearColumns; ++c) carry[r * kLinearColumns + c] = sum[r][c];
    }
    return;
  }
  if (i < k) {
    typename F::Vector a[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) a[r] = F::LoadCount(x + r * k + i, k - i);
#pragma GCC unroll 8
    for (int c = 0; c < kLinearColumns; ++c) {
      const typename F::Vector weight = F::LoadCount(w[c] + i, k - i);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sum[r][c] = F::MulAdd(sum[r][c], a[r], weight);
    }
  }
  const ColumnSums bias =
      args.bias == nullptr ? NoColumns() : LoadColumns(args.bias + at.column, at.columns);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    StoreColumns(args.y + (at.row + r) * args.n + at.column, at.columns,
                 AddColumns(SumColumns(sum[r]), bias));
  }
}

// Computes rows [at.row, end), few: the first tile asks for all of the next columns' weights.
template <bool kStretches, typename In>
inline void FirstPrefetches(const LinearArgs<In>& args, Place at, int64_t end, Wide* carry) {
  constexpr int kSums = kLinearRows * kLinearColumns;
  if (end - at.row >= kLinearRows) {
    Tile<kLinearRows, kAll, kStretches>(args, at, carry);
    at.row += kLinearRows, carry += kSums;
  }
  for (; end - at.row >= kLinearRows; at.row += kLinearRows, carry += kSums) {
    Tile<kLinearRows, 0, kStretches>(args, at, carry);
  }
  if (end - at.row == 2) Tile<2, kAll, kStretches>(args, at, carry);
  if (end - at.row == 1) Tile<1, kAll, kStretches>(args, at, carry);
}

// Does the same for at least kAll / kPrefetch tiles, each of which asks for its share, so that
// memory is busy all the time and not only during the first one.
template <int kPrefetch, bool kStretches, typename In>
inline void SharedPrefetch(const LinearArgs<In>& args, Place at, int64_t end, Wide* carry) {
  constexpr int kSums = kLinearRows * kLinearColumns;
  const In* ahead = args.w + (at.column + kLinearColumns) * args.k;
  for (; end - at.row >= kLinearRows; at.row += kLinearRows, carry += kSums) {
    Tile<kLinearRows, kPrefetch, kStretches>(args, at, carry, ahead);
    ahead += kPrefetch * args.k;
  }
  if (end - at.row == 2) Tile<2, 0, kStretches>(args, at, carry);
  if (end - at.row == 1) Tile<1, 0, kStretches>(args, at, carry);
}

// Computes the tiles of kLinearColumns columns over one stretch.
template <bool kStretches, typename In>
inline void Rows(const LinearArgs<In>& args, const Place& at, int64_t end, Wide* carry) {
  const int64_t tiles = (end - at.row) / kLinearRows;
  if (tiles >= kAll) {
    SharedPrefetch<1, kStretches>(args, at, end, carry);
  } else if (tiles >= kAll / 2) {
    SharedPrefetch<2, kStretches>(args, at, end, carry);
  } else {
    FirstPrefetches<kStretches>(args, at, end, carry);
  }
}

template <typename In>
void Columns(const LinearArgs<In>& args, int64_t n_begin, int64_t n_end) {
  constexpr int64_t kStretch = kStretchBytes / (int64_t)sizeof(In);
  alignas(64) Wide carry[kBlockRows * kLinearColumns];
  for (int64_t block = 0; block < args.rows; block += kBlockRows) {
    const int64_t end = block + kBlockRows < args.rows ? block + kBlockRows : args.rows;
    for (int64_t column = n_begin; column < n_end; column += kLinearColumns) {
      const int64_t columns = n_end - column < kLinearColumns ? n_end - column : kLinearColumns;
      Place at = {block, column, columns, 0, args.k};
      // Up to two stretches are done as one. So are few rows, which read the weights once or twice:
      // they have nothing to gain.
      if (args.k < 2 * kStretch || end - block <= kLinearRows) {
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
}  // namespace decode_linear
}  // namespace whetstone::WHETSTONE_ISA

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_LINEAR_BODY_H_
