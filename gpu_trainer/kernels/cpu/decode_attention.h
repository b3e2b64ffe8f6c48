// A few query rows attend over keys and values that lie packed for them. This is internal to
// kernels/ and engine/.
//
// In the packed layout of one key/value head D is padded with zeros to Dp, a multiple of 16; kPair
// numbers (2 bf16, 1 float) that are multiplied in one lane lie together:
//   k [Dp / kPair][capacity][kPair]   neighbouring tokens fill a register
//   v [capacity / kPair][Dp][kPair]   neighbouring dimensions fill a register
// capacity is a multiple of kPackedBlock; tokens past the end hold zeros or any finite number.
//
// Softmax runs online (Milakov and Gimelshein, arXiv 1805.02867): after any number of blocks
// (a prefix shared by many rows, then a row's own suffix) the state holds the exact merged result.
// A row's additions always come in the same order, whatever rows are beside it.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_ATTENTION_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_ATTENTION_H_

#include <cstdint>

#include "gpu_trainer/kernels/cpu/bf16.h"

namespace whetstone {

inline constexpr int64_t kPackedBlock = 64;  // tokens

template <typename T>
inline constexpr int64_t kPair = 1;
template <>
inline constexpr int64_t kPair<Bf16> = 2;

template <typename T>
struct PackedKv {
  T* k;
  T* v;
  int64_t capacity;  // tokens
};

// AttentionState is the running softmax of `rows` query rows. It starts with max = -inf, sum = 0,
// out = 0.
template <typename T>
struct AttentionState {
  const T* q;  // [rows, Dp], tail zero
  float* max;  // [rows]
  float* sum;  // [rows]
  float* out;  // [rows, Dp], not yet divided by sum
  int64_t rows, dp;
  float scale;  // of the scores, 1 / sqrt(D)
};

// Stores token `t` (k and v [d] each), rounded to T.
template <typename T>
inline void PackToken(const float* k, const float* v, int64_t d, int64_t dp, int64_t t,
                      const PackedKv<T>& kv) {
  constexpr int64_t p = kPair<T>;
  for (int64_t i = 0; i < d; ++i) {
    StoreFloat(k[i], kv.k + ((i / p) * kv.capacity + t) * p + i % p);
    StoreFloat(v[i], kv.v + ((t / p) * dp + i) * p + t % p);
  }
}

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_DECODE_ATTENTION_H_
