// The body of DecodeKernels::attend, for the instruction set WHETSTONE_ISA.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_ATTENTION_BODY_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_ATTENTION_BODY_H_

#include "gpu_trainer/kernels/cpu/decode_attention.h"

namespace whetstone::WHETSTONE_ISA {
namespace decode_attention {
namespace {

constexpr int kVectors = kPackedBlock / kWide;
static_assert(kVectors % kAttendVectors == 0);

inline Wide Exp(Wide x) {
  x = Max(x, Splat(-87.0f));
  const Wide n = RoundToInteger(Mul(x, Splat(1.44269504088896341f)));
  Wide r = NegMulAdd(n, Splat(0.693359375f), x);
  r = NegMulAdd(n, Splat(-2.12194440e-4f), r);
  Wide p = Splat(1.9875691500e-4f);
  p = MulAdd(p, r, Splat(1.3981999507e-3f));
  p = MulAdd(p, r, Splat(8.3334519073e-3f));
  p = MulAdd(p, r, Splat(4.1665795894e-2f));
  p = MulAdd(p, r, Splat(1.6666665459e-1f));
  p = MulAdd(p, r, Splat(5.0000001201e-1f));
  p = MulAdd(Mul(p, r), r, Add(r, Splat(1.0f)));
  return TimesPowerOf2(p, n);
}

// sum[r][0 … kWide * kN) += sum over i of a[r][i] * b[i][·], both in pairs.
template <int kRows, int kN, typename T>
inline void Multiply(const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t pairs,
                     Wide (&sum)[kRows][kN]) {
  using F = Factors<T>;
  for (int64_t i = 0; i < pairs; ++i) {
    typename F::Vector left[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) left[r] = F::Splat(a + r * a_stride + i * F::kPair);
#pragma GCC unroll 8
    for (int n = 0; n < kN; ++n) {
      const typename F::Vector right = F::Load(b + i * b_stride + n * kWide * F::kPair);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sum[r][n] = F::MulAdd(sum[r][n], left[r], right);
    }
  }
}

// Softmax weights are sums of kTerms numbers of type T. One bf16 would round each weight by up to
// 1/512, differently for every way to cut the tokens into blocks; two hold 16 bits, so that
// decoding and prefill agree.
template <typename T>
inline constexpr int kTerms = 1;
template <>
inline constexpr int kTerms<Bf16> = 2;

// out += probabilities x v for kWide * kN dimensions.
template <int kRows, int kN, typename T>
inline void AddValues(const T* probabilities, const T* v, int64_t dp, int64_t tokens, float* out) {
  constexpr int64_t p = kPair<T>;
  Wide sum[kRows][kN];
  for (int r = 0; r < kRows; ++r) {
    for (int n = 0; n < kN; ++n) sum[r][n] = Load(out + r * dp + n * kWide);
  }
  for (int term = 0; term < kTerms<T>; ++term) {
    Multiply<kRows, kN>(probabilities + term * kRows * kPackedBlock, kPackedBlock, v, dp * p,
                        tokens / p, sum);
  }
  for (int r = 0; r < kRows; ++r) {
    for (int n = 0; n < kN; ++n) Store(out + r * dp + n * kWide, sum[r][n]);
  }
}

// Adds one block of at most kPackedBlock tokens to kRows rows from `row`.
template <int kRows, typename T>
inline void Block(const AttentionState<T>& state, int64_t row, const T* k, const T* v,
                  int64_t capacity, int64_t tokens) {
  constexpr int64_t p = kPair<T>;
  const int64_t dp = state.dp;
  Wide score[kRows][kVectors];
  for (int first = 0; first < kVectors; first += kAttendVectors) {
    Wide some[kRows][kAttendVectors];
    for (int r = 0; r < kRows; ++r) {
      for (int n = 0; n < kAttendVectors; ++n) some[r][n] = Zero();
    }
    Multiply(state.q + row * dp, dp, k + first * kWide * p, capacity * p, dp / p, some);
    for (int r = 0; r < kRows; ++r) {
      for (int n = 0; n < kAttendVectors; ++n) score[r][first + n] = some[r][n];
    }
  }

  alignas(64) T probabilities[kTerms<T> * kRows * kPackedBlock];
  const Wide scale = Splat(state.scale), minus = Splat(-__builtin_inff());
  for (int r = 0; r < kRows; ++r) {
    Wide most = minus;
    for (int n = 0; n < kVectors; ++n) {
      score[r][n] = Select(First(tokens - n * kWide), Mul(score[r][n], scale), minus);
      most = Max(most, score[r][n]);
    }
    const float before = state.max[row + r];
    const float block_max = MaxLane(most);
    const float now = block_max > before ? block_max : before;
    Wide sum = Zero();
    for (int n = 0; n < kVectors; ++n) {
      const Wide e = Select(First(tokens - n * kWide), Exp(Sub(score[r][n], Splat(now))), Zero());
      sum = Add(sum, e);
      T* to = probabilities + r * kPackedBlock + n * kWide;
      const Wide rest = StoreRest(to, e);
      if (kTerms<T> == 2) StoreRest(to + kRows * kPackedBlock, rest);
    }
    float* out = state.out + (row + r) * dp;
    if (now > before) {
      // In the first block `before` is -inf: Exp gives e^-87, and what it shrinks is still zero.
      const Wide shrink = Exp(Splat(before - now));
      for (int64_t i = 0; i < dp; i += kWide) Store(out + i, Mul(Load(out + i), shrink));
      state.sum[row + r] *= FirstLane(shrink);
      state.max[row + r] = now;
    }
    state.sum[row + r] += SumLanes(sum);
  }

  const int64_t even = (tokens + p - 1) / p * p;
  float* out = state.out + row * dp;
  int64_t i = 0;
  for (; i + kWide * kAttendVectors <= dp; i += kWide * kAttendVectors) {
    AddValues<kRows, kAttendVectors>(probabilities, v + i * p, dp, even, out + i);
  }
  for (; i < dp; i += kWide) AddValues<kRows, 1>(probabilities, v + i * p, dp, even, out + i);
}

// Adds the block to `rows` rows, kRows at most.
template <int kRows, typename T>
inline void Rows(const AttentionState<T>& state, int64_t row, int64_t rows, const T* k, const T* v,
                 int64_t capacity, int64_t tokens) {
  if (rows == kRows) return Block<kRows>(state, row, k, v, capacity, tokens);
  if constexpr (kRows > 1) Rows<kRows - 1>(state, row, rows, k, v, capacity, tokens);
}

template <typename T>
void Attend(const AttentionState<T>& state, const PackedKv<T>& kv, int64_t length) {
  constexpr int64_t p = kPair<T>;
  // Blocks are the outer loop and rows the inner: a block of keys and values is read from memory
  // once.
  for (int64_t t = 0; t < length; t += kPackedBlock) {
    const int64_t tokens = length - t < kPackedBlock ? length - t : kPackedBlock;
    for (int64_t row = 0; row < state.rows; row += kAttendRows) {
      const int64_t rows = state.rows - row < kAttendRows ? state.rows - row : kAttendRows;
      Rows<kAttendRows>(state, row, rows, kv.k + t * p, kv.v + t * state.dp, kv.capacity, tokens);
    }
  }
}

}  // namespace
}  // namespace decode_attention
}  // namespace whetstone::WHETSTONE_ISA

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_ATTENTION_BODY_H_
