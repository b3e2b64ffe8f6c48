// These kernels do what attention_packed.h does beside matrix products, by AVX-512: softmax and its
// gradient over rows of scores, and the packing of rows into the pairs that PanelProduct reads.
//
// Every exponential is computed once. Forward, probabilities are left unnormalised (the caller
// scales the few numbers of the result instead); backward, sum(p * dp) is known before as the
// product of a row's result with its gradient (Dao, arXiv 2307.08691).
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_ATTENTION_ROWS_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_ATTENTION_ROWS_H_

#include <cstdint>

namespace whetstone::attention_rows {

// T is uint16_t (bf16) or float. Rows of scores and of what is made of them have room for n rounded
// up to 16. All need what PanelProduct needs.

struct Softmax {
  float log_sum = 0;      // log sum exp(scale * score)
  float inverse_sum = 0;  // 1 / the sum of what was written
};
// Computes p = exp(scale * (score - the highest score)) over the first `valid` of n scores, 0 past
// them.
template <typename T>
Softmax Exponentials(const float* scores, int64_t n, int64_t valid, float scale, T* p);

// A ScoreRow is one row of scores on the way back.
struct ScoreRow {
  const float* scores = nullptr;
  const float* dp = nullptr;  // the gradient of its probabilities
  int64_t valid = 0;          // scores that count
  float log_sum = 0;
  float dot = 0;  // sum(p * dp)
};
// Computes, for `count` rows, one kPanelPair of them or fewer, ds = scale * p * (dp - dot), the
// gradient of the scores, in rows `ds_stride` apart; the same and p packed in pairs of rows.
template <typename T>
void Gradients(const ScoreRow* rows, int64_t count, int64_t n, float scale, T* ds,
               int64_t ds_stride, T* ds_pairs, T* p_pairs);

// Returns sum(a * b) of n numbers.
template <typename T>
float Dot(const T* a, const T* b, int64_t n);

// Computes y = x * factor, rounded.
template <typename T>
void Round(const float* x, int64_t n, float factor, T* y);

// Packs `count` rows of n numbers, one kPanelPair of them or fewer, as one packed row.
template <typename T>
void PackPair(const T* const* rows, int64_t count, int64_t n, T* packed);

}  // namespace whetstone::attention_rows

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_ATTENTION_ROWS_H_
