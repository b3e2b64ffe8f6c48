// This file is compiled with AVX-512 flags: include nothing here that defines shared inline
// functions.
#include "gpu_trainer/kernels/cpu/attention_avx512.h"

#include <immintrin.h>

namespace whetstone {
namespace {

constexpr int kRowsAtOnce = 6;
constexpr int kVectors = kPackedBlock / 16;

inline __m512 Exp(__m512 x) {
  x = _mm512_max_ps(x, _mm512_set1_ps(-87.0f));
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504088896341f)),
                                        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
  __m512 p = _mm512_set1_ps(1.9875691500e-4f);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507e-3f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1f));
  p = _mm512_fmadd_ps(_mm512_mul_ps(p, r), r, _mm512_add_ps(r, _mm512_set1_ps(1.0f)));
  return _mm512_scalef_ps(p, n);
}

// Puts the kPair numbers at p into every lane.
inline __m512bh BroadcastPair(const Bf16* p) {
  int32_t bits;
  __builtin_memcpy(&bits, p, sizeof bits);
  return (__m512bh)_mm512_set1_epi32(bits);
}
inline __m512 BroadcastPair(const float* p) { return _mm512_set1_ps(*p); }
inline __m512bh LoadPairs(const Bf16* p) { return (__m512bh)_mm512_loadu_si512(p); }
inline __m512 LoadPairs(const float* p) { return _mm512_loadu_ps(p); }
inline __m512 MulAdd(__m512 sum, __m512bh a, __m512bh b) { return _mm512_dpbf16_ps(sum, a, b); }
inline __m512 MulAdd(__m512 sum, __m512 a, __m512 b) { return _mm512_fmadd_ps(a, b, sum); }
// Stores x; returns what the type could not hold.
inline __m512 StoreLanes(__m512 x, Bf16* to) {
  const __m256i bits = (__m256i)_mm512_cvtneps_pbh(x);
  _mm256_storeu_si256((__m256i*)to, bits);
  return _mm512_sub_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16)));
}
inline __m512 StoreLanes(__m512 x, float* to) {
  _mm512_storeu_ps(to, x);
  return _mm512_setzero_ps();
}

// out[r][0 … 16 * kN) (+)= sum over i of a[r][i] * b[i][·], both in pairs.
template <int kRows, int kN, typename T>
inline void Multiply(const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t pairs,
                     __m512 (&sum)[kRows][kN]) {
  constexpr int64_t p = kPair<T>;
  for (int64_t i = 0; i < pairs; ++i) {
    decltype(LoadPairs(b)) right[kN];
#pragma GCC unroll 8
    for (int n = 0; n < kN; ++n) right[n] = LoadPairs(b + i * b_stride + n * 16 * p);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto left = BroadcastPair(a + r * a_stride + i * p);
#pragma GCC unroll 8
      for (int n = 0; n < kN; ++n) sum[r][n] = MulAdd(sum[r][n], left, right[n]);
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

// out += probabilities x v for 16 * kN dimensions.
template <int kRows, int kN, typename T>
inline void AddValues(const T* probabilities, const T* v, int64_t dp, int64_t tokens, float* out) {
  constexpr int64_t p = kPair<T>;
  __m512 sum[kRows][kN];
  for (int r = 0; r < kRows; ++r) {
    for (int n = 0; n < kN; ++n) sum[r][n] = _mm512_loadu_ps(out + r * dp + n * 16);
  }
  for (int term = 0; term < kTerms<T>; ++term) {
    Multiply<kRows, kN>(probabilities + term * kRows * kPackedBlock, kPackedBlock, v, dp * p,
                        tokens / p, sum);
  }
  for (int r = 0; r < kRows; ++r) {
    for (int n = 0; n < kN; ++n) _mm512_storeu_ps(out + r * dp + n * 16, sum[r][n]);
  }
}

// Adds one block of at most kPackedBlock tokens to kRows rows from `row`.
template <int kRows, typename T>
inline void Block(const AttentionState<T>& state, int64_t row, const T* k, const T* v,
                  int64_t capacity, int64_t tokens) {
  constexpr int64_t p = kPair<T>;
  const int64_t dp = state.dp;
  __m512 score[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int n = 0; n < kVectors; ++n) score[r][n] = _mm512_setzero_ps();
  }
  Multiply<kRows, kVectors>(state.q + row * dp, dp, k, capacity * p, dp / p, score);

  alignas(64) T probabilities[kTerms<T> * kRows * kPackedBlock];
  const __m512 scale = _mm512_set1_ps(state.scale), minus = _mm512_set1_ps(-__builtin_inff());
  for (int r = 0; r < kRows; ++r) {
    __m512 most = minus;
    for (int n = 0; n < kVectors; ++n) {
      const int64_t left = tokens - n * 16;
      const __mmask16 valid = left >= 16 ? 0xffff : left <= 0 ? 0 : (__mmask16)((1u << left) - 1);
      score[r][n] = _mm512_mask_mul_ps(minus, valid, score[r][n], scale);
      most = _mm512_max_ps(most, score[r][n]);
    }
    const float before = state.max[row + r];
    const float block_max = _mm512_reduce_max_ps(most);
    const float now = block_max > before ? block_max : before;
    __m512 sum = _mm512_setzero_ps();
    for (int n = 0; n < kVectors; ++n) {
      const int64_t left = tokens - n * 16;
      const __mmask16 valid = left >= 16 ? 0xffff : left <= 0 ? 0 : (__mmask16)((1u << left) - 1);
      const __m512 e =
          _mm512_maskz_mov_ps(valid, Exp(_mm512_sub_ps(score[r][n], _mm512_set1_ps(now))));
      sum = _mm512_add_ps(sum, e);
      T* to = probabilities + r * kPackedBlock + n * 16;
      const __m512 rest = StoreLanes(e, to);
      if (kTerms<T> == 2) StoreLanes(rest, to + kRows * kPackedBlock);
    }
    float* out = state.out + (row + r) * dp;
    if (now > before) {
      // In the first block `before` is -inf: Exp gives e^-87, and what it shrinks is still zero.
      const __m512 shrink = Exp(_mm512_set1_ps(before - now));
      for (int64_t i = 0; i < dp; i += 16) {
        _mm512_storeu_ps(out + i, _mm512_mul_ps(_mm512_loadu_ps(out + i), shrink));
      }
      state.sum[row + r] *= _mm512_cvtss_f32(shrink);
      state.max[row + r] = now;
    }
    state.sum[row + r] += _mm512_reduce_add_ps(sum);
  }

  const int64_t even = (tokens + p - 1) / p * p;
  float* out = state.out + row * dp;
  int64_t i = 0;
  for (; i + 64 <= dp; i += 64) {
    AddValues<kRows, 4>(probabilities, v + i * p, dp, even, out + i);
  }
  for (; i < dp; i += 16) AddValues<kRows, 1>(probabilities, v + i * p, dp, even, out + i);
}

template <typename T>
inline void Rows(const AttentionState<T>& state, int64_t row, int64_t rows, const T* k, const T* v,
                 int64_t capacity, int64_t tokens) {
  switch (rows) {
    case 1:
      return Block<1>(state, row, k, v, capacity, tokens);
    case 2:
      return Block<2>(state, row, k, v, capacity, tokens);
    case 3:
      return Block<3>(state, row, k, v, capacity, tokens);
    case 4:
      return Block<4>(state, row, k, v, capacity, tokens);
    case 5:
      return Block<5>(state, row, k, v, capacity, tokens);
    default:
      return Block<6>(state, row, k, v, capacity, tokens);
  }
}

template <typename T>
void Attend(const AttentionState<T>& state, const PackedKv<T>& kv, int64_t length) {
  constexpr int64_t p = kPair<T>;
  // Blocks are the outer loop and rows the inner: a block of keys and values is read from memory
  // once.
  for (int64_t t = 0; t < length; t += kPackedBlock) {
    const int64_t tokens = length - t < kPackedBlock ? length - t : kPackedBlock;
    for (int64_t row = 0; row < state.rows; row += kRowsAtOnce) {
      const int64_t rows = state.rows - row < kRowsAtOnce ? state.rows - row : kRowsAtOnce;
      Rows(state, row, rows, kv.k + t * p, kv.v + t * state.dp, kv.capacity, tokens);
    }
  }
}

}  // namespace

void AttendPacked(const AttentionState<Bf16>& state, const PackedKv<Bf16>& kv, int64_t length) {
  Attend(state, kv, length);
}
void AttendPacked(const AttentionState<float>& state, const PackedKv<float>& kv, int64_t length) {
  Attend(state, kv, length);
}

}  // namespace whetstone
