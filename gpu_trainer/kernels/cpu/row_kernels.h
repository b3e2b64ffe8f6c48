// The element-wise work of training is SIMD loops over rows of memory here: no tensors, no threads.
// Callers (elementwise_layers.cc, head_loss.cc, attention.cc) split the rows over threads.
//
//   kernels::Row<uint16_t>().swiglu_forward(gate_up, n, c, y);
//
// T, the compute type, is float or bf16 (as uint16_t). All arithmetic is in float, and the residual
// stream with its gradient is kept in float, as in generation. Rows are contiguous; `n` counts
// rows, `c` numbers of one row. The loops are compiled for several instruction sets; the best
// one for this machine is picked at first use. Sums run in an order that depends only on `c` and
// the instruction set. Thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_ROW_KERNELS_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_ROW_KERNELS_H_

#include <cstdint>

namespace whetstone::kernels {

// SoftmaxRow is one row of logits under softmax(scale * logits).
struct SoftmaxRow {
  float log_sum = 0;  // log sum exp(scale * logit)
  float entropy = 0;  // nats
};

// These are the derivatives of the loss by the log-probability of a row's target and by the row's
// entropy.
struct SoftmaxLossGradient {
  float logprob = 0;
  float entropy = 0;
};

template <typename T>
struct RowKernels {
  // y[i] = x[i] + delta[i].
  void (*residual_add)(const float* x, const T* delta, int64_t n, float* y);
  // y = x * rstd * weight, rstd[row] = 1 / sqrt(mean(x^2) + eps).
  void (*rms_norm_forward)(const float* x, const T* weight, int64_t n, int64_t c, float eps, T* y,
                           float* rstd);
  // dx += the gradient of x; dweight [c] += that of the weight.
  void (*rms_norm_backward)(const T* dy, const float* x, const T* weight, const float* rstd,
                            int64_t n, int64_t c, float* dx, float* dweight);
  // Replaces every one of `heads` heads of `d` numbers at the start of each row (rows `stride`
  // apart) by x * rstd * weight [d], rstd being the head's own.
  void (*head_norm)(T* x, const T* weight, int64_t n, int64_t stride, int64_t heads, int64_t d,
                    float eps);
  // dx, strided alike, holds the result's gradient and gets that of x; dweight [d] += the weight's.
  void (*head_norm_backward)(T* dx, const T* x, const T* weight, int64_t n, int64_t stride,
                             int64_t heads, int64_t d, float eps, float* dweight);
  // Rotates `heads` heads of `d` numbers at the start of each row (rows `stride` apart) by the
  // angles of positions[row]; cos and sin [length, d/2]. `direction` -1 rotates back, which is the
  // gradient.
  void (*rope)(T* x, int64_t n, int64_t stride, int64_t heads, int64_t d, const int32_t* positions,
               const float* cos, const float* sin, float direction);
  // gate_up rows hold c gates, then c ups. y = silu(gate) * up.
  void (*swiglu_forward)(const T* gate_up, int64_t n, int64_t c, T* y);
  // Replaces gate_up by its gradient, and dy, that of y, by y.
  void (*swiglu_backward)(T* dy, int64_t n, int64_t c, T* gate_up);
  // Computes the gradient of dloss.logprob * log p[target] + dloss.entropy * entropy(p) by `c`
  // logits of a row, p = softmax(scale * the row); `row` is that of SoftmaxStatistics over all of
  // it. A target outside [0, c) is among the others.
  void (*softmax_gradient)(const float* logits, int64_t c, float scale, const SoftmaxRow& row,
                           const SoftmaxLossGradient& dloss, int64_t target, T* gradient);
  // sum[i] += x[i].
  void (*accumulate)(const T* x, int64_t n, float* sum);
};

template <typename T>
const RowKernels<T>& Row();

// Computes one row of logits, compiled the same way.
SoftmaxRow SoftmaxStatistics(const float* logits, int64_t c, float scale);

}  // namespace whetstone::kernels

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_ROW_KERNELS_H_
