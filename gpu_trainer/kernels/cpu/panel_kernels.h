// What attention_packed.h computes with: products of small matrices with a packed factor, and rows
// of their results.
//
// PanelProduct computes c = a b, with b packed. Bf16 is multiplied in pairs along k, so b holds two
// rows interleaved: packed row i has, for each column, b[2i] and b[2i + 1]. (A float b stays as it
// is.) a's pairs lie `a_step` apart: kPanelPair in a plain matrix, more in one packed like b, which
// is multiplied transposed by giving its columns as rows (a_stride kPanelPair, a_step a packed
// row). Sums are f32, in an order that depends on k alone. LibTorch's products give bf16 sums, one
// call for each small matrix costs more than its work, and the kernel for few rows
// (decode_linear.h) spends k = 64 in horizontal sums.
//
// Every exponential is computed once. Forward, probabilities are left unnormalised (the caller
// scales the few numbers of the result instead); backward, sum(p * dp) is known before as the
// product of a row's result with its gradient (Dao, arXiv 2307.08691).
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_PANEL_KERNELS_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_PANEL_KERNELS_H_

#include <cstdint>

namespace whetstone {

// T is uint16_t (bf16) or float.
template <typename T>
inline constexpr int64_t kPanelPair = sizeof(T) == 2 ? 2 : 1;

template <typename T>
struct PanelArgs {
  const T* a;  // [m, k], rows `a_stride` apart, the pairs of a row `a_step`
  int64_t a_stride;
  int64_t a_step;
  const T* b;  // packed [k, n], packed rows of `b_columns` columns
  int64_t b_columns;
  float* c;  // [m, n], rows `c_stride` apart
  int64_t c_stride;
  int64_t m, n, k;   // k a multiple of kPanelPair
  bool add = false;  // to what c holds
};

struct ScoreSums {
  float log_sum = 0;      // log sum exp(scale * score)
  float inverse_sum = 0;  // 1 / the sum of what was written
};

// A ScoreRow is one row of scores on the way back.
struct ScoreRow {
  const float* scores = nullptr;
  const float* dp = nullptr;  // the gradient of its probabilities
  int64_t valid = 0;          // scores that count
  float log_sum = 0;
  float dot = 0;  // sum(p * dp)
};

// Rows of scores and of what is made of them have room for n rounded up to 16.
template <typename T>
struct PanelKernels {
  void (*product)(const PanelArgs<T>& args);

  // Computes p = exp(scale * (score - the highest score)) over the first `valid` of n scores, 0
  // past them.
  ScoreSums (*exponentials)(const float* scores, int64_t n, int64_t valid, float scale, T* p);

  // Computes, for `count` rows, one kPanelPair of them or fewer, ds = scale * p * (dp - dot), the
  // gradient of the scores, in rows `ds_stride` apart; the same and p packed in pairs of rows.
  void (*gradients)(const ScoreRow* rows, int64_t count, int64_t n, float scale, T* ds,
                    int64_t ds_stride, T* ds_pairs, T* p_pairs);

  // Returns sum(a * b) of n numbers.
  float (*dot)(const T* a, const T* b, int64_t n);

  // Computes y = x * factor, rounded.
  void (*round)(const float* x, int64_t n, float factor, T* y);

  // Packs `count` rows of n numbers, one kPanelPair of them or fewer, as one packed row.
  void (*pack)(const T* const* rows, int64_t count, int64_t n, T* packed);
};

// Returns those for this processor, which has them (HasProductKernels of kernels/cpu/cpu.h).
template <typename T>
const PanelKernels<T>& Panels();

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_PANEL_KERNELS_H_
