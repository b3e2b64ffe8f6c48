// These are own kernels for GPUs, on raw pointers, without a CUDA or LibTorch header.
//
//   const CudaKernels* kernels = KernelsFor(x.device());            // kernels/cuda/cuda_choice.h
//   LaunchError error = kernels->rms_norm({.x = …, .rows = n, …}, stream);
//
// Two tables have this form: nvcc's (OnCuda), whose functions queue work on a stream, and one
// compiled from the very same sources for the CPU (cuda_emulator.h), which runs the threads of a
// block in turns and so tests indices, reductions and barriers where there is no GPU.
//
// All pointers are to the device's memory, arrays are contiguous and row-major, and their memory
// must last until the work is done. T, the type that matrix products read, is `type`; sums and what
// lies between two products are f32. A function returns null, or why nothing was launched; it never
// waits. Thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_KERNELS_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_KERNELS_H_

#include <cstdint>

#include "gpu_trainer/kernels/cpu/optimizer_kernels.h"

namespace whetstone {

using LaunchError = const char*;
using CudaStreamHandle = void*;  // A cudaStream_t.

enum class NumberType { kFloat, kBFloat16, kHalf };

inline constexpr int64_t kNormWidthMax = 8192;

// rms_norm computes the root mean square normalisation (arXiv 1910.07467) of rows: x += delta
// (stored), then y = x / sqrt(mean(x^2) + eps) * weight. `rstd` gets 1 / sqrt(mean(x^2) + eps).
struct RmsNormArgs {
  float* x;             // [rows, width]
  const float* delta;   // [rows, width] or null
  const void* weight;   // [width] T
  void* y;              // [rows, width] T
  float* rstd;          // [rows] or null
  int64_t rows, width;  // width: at most kNormWidthMax
  float eps;
  NumberType type;
};

// silu_mul computes y = silu(gate) * up.
struct SiluMulArgs {
  const float* gate_up;  // [rows, 2 * width]: gates, then ups
  void* y;               // [rows, width] T
  int64_t rows, width;
  NumberType type;
};

// Keys and values of consecutive tokens, of a prompt or in a sequence's slot, are one piece:
//   [layers, 2 (keys, values), K, capacity, D] T
// `capacity` is a multiple of kKvTile; what lies past the last token is finite. The piece begins at
// a multiple of 32 bytes.
inline constexpr int32_t kKvTile = 16;

// A DecodeToken is one token that decodes.
struct DecodeToken {
  void* slot;            // its sequence's own keys and values
  int32_t capacity;      // of the slot
  int32_t suffix;        // where in the slot its key and value belong
  int32_t position;      // in the whole sequence: its rotation
  int32_t splits;        // results of attend_splits that belong to it
  uint64_t group_index;  // with `sample` and `draw`: the stream of its random number
  uint64_t sample;       // (common/philox.h)
  uint64_t draw;         // tokens drawn before
};

// A KvSegment is a run of tokens that some rows attend to: a prompt's, shared by neighbouring rows,
// or one row's own. Its tokens are cut into splits of kSplitTokens; results of row r's go to
// first_split, … of r.
struct KvSegment {
  const void* base;
  int32_t capacity;
  int32_t tokens;  // 0: nothing to do
  int32_t first_row;
  int32_t rows;  // rows * H / K <= QueriesMax(type)
  int32_t first_split;
};
inline constexpr int32_t kSplitTokens = 128;
// The kernels serve a head of a multiple of kKvTile numbers, at most so many, and at most so many
// query heads that read one key/value head.
inline constexpr int32_t kHeadDimMax = 128;
inline constexpr int32_t kHeadsPerKvMax = 16;
// So many queries share one reading of keys and values: of f32, and of 16-bit types.
inline constexpr int32_t kQueriesF32 = 16;
inline constexpr int32_t kQueries16 = 32;
inline int32_t QueriesMax(NumberType type) {
  return type == NumberType::kFloat ? kQueriesF32 : kQueries16;
}

struct DecodeShape {
  int32_t heads, kv_heads, head_dim;  // H, K, D: D a multiple of 16 up to 128, H / K at most 16
  NumberType type;
};

// rotate_store works on every row: bias is added, query and key heads are normalised where the
// model does so, both are rotated, queries are scaled by 1 / sqrt(D), key and value are stored in
// the row's slot.
struct RotateStoreArgs {
  const float* qkv;    // [rows, (H + 2K) * D]
  const void* bias;    // [(H + 2K) * D] T or null
  const void* q_norm;  // [D] T or null
  const void* k_norm;  // [D] T or null
  float eps;
  const float* cos;  // [positions, D / 2]
  const float* sin;
  const DecodeToken* tokens;  // [rows]
  void* q;                    // [rows, H, D] T
  int64_t rows;
  int32_t layer;
  DecodeShape shape;
};

// attend_splits computes the attention of each row's queries over splits of its segments, each with
// its own softmax, to be merged by log-sum-exp (Flash-Decoding; Dao et al. 2023). A query's result
// does not depend on the rows beside it.
struct AttendSplitsArgs {
  const void* q;              // [rows, H, D] T, scaled; at a multiple of 16 bytes
  const KvSegment* segments;  // [segments]
  int32_t segments_count;
  int32_t tokens_max;  // of the longest segment that may come
  int32_t layer;
  float* split_out;  // [rows, H, splits_max, D]
  float* scales;     // [rows, H, splits_max, 2]: maximum and sum of the exponentials
  int32_t splits_max;
  DecodeShape shape;
};

struct MergeSplitsArgs {
  const float* split_out;
  const float* scales;
  const DecodeToken* tokens;  // [rows]
  void* out;                  // [rows, H * D] T
  int64_t rows;
  int32_t splits_max;
  DecodeShape shape;
};

// Draws a token for every row as kernels/sample.h does without top-k, top-p and min-p, by the same
// random number, so that both draw the same token but for rounding.
inline constexpr int32_t kVocabBlockTokens = 1024;
inline constexpr int32_t kVocabBlocksMax = 1024;
struct VocabBlock {
  float max, sum;  // of scale * logits, and of exp(scale * logit - max)
  int32_t best;    // the first of the likeliest
};
struct SampleArgs {
  const float* logits;        // [rows, vocab]
  const DecodeToken* tokens;  // [rows]
  uint64_t seed, step;        // of the stream
  float scale;                // 1 / temperature; 0: greedy
  VocabBlock* vocab_blocks;   // [rows, ceil(vocab / kVocabBlockTokens)], written
  int32_t* ids;               // [rows]
  float* logprobs;            // [rows]; not finite where the logits are not
  int64_t rows, vocab;        // vocab: at most kVocabBlocksMax * kVocabBlockTokens
};

// softmax_statistics computes, for every row under softmax(scale * logits), the log of the sum of
// exponentials, the entropy and the target's log-probability.
struct SoftmaxStatisticsArgs {
  const float* logits;     // [rows, vocab]
  const int64_t* targets;  // [rows]
  float* log_sum;          // [rows]
  float* entropy;          // [rows]
  float* logprob;          // [rows]
  int64_t rows, vocab;
  float scale;
};

// softmax_gradient computes the gradient of logits [first, first + count) of every row, given the
// loss's slopes by its target's log-probability (c) and entropy (h): scale * (c * (1{target} - p) -
// h * p * (log p + H)).
struct SoftmaxGradientArgs {
  const float* logits;     // [rows, vocab]
  const int64_t* targets;  // [rows]
  const float* log_sum;    // [rows] each
  const float* entropy;
  const float* c;
  const float* h;
  void* gradient;  // [rows, count] T
  int64_t rows, vocab, first, count;
  float scale;
  NumberType type;
};

// What follows is for the training pass, where what lies between two products is T, and only the
// residual stream, its gradient and sums are f32.

// residual_add computes y = x + delta.
struct ResidualAddArgs {
  const float* x;     // [count]
  const void* delta;  // [count] T
  float* y;           // [count]
  int64_t count;
  NumberType type;
};

// rms_norm_backward computes the gradients of rms_norm without delta: dx += that of x. The weight's
// is the sum of `weight_sums` over its rows; the number of rows is fixed, and with it the order of
// the sum.
inline constexpr int64_t kNormPartialSums = 512;
struct RmsNormBackwardArgs {
  const void* dy;       // [rows, width] T
  const float* x;       // [rows, width]
  const void* weight;   // [width] T
  const float* rstd;    // [rows]
  float* dx;            // [rows, width]
  float* weight_sums;   // [kNormPartialSums, width], written; or null
  int64_t rows, width;  // width: at most kNormWidthMax
  NumberType type;
};

// head_norm is rms_norm of `heads` heads of every row by themselves, in place. With the gradient of
// what it computed in dqkv, and in qkv what it was given, head_norm_backward puts the gradient of
// that in place; weight_sums as above.
inline constexpr int32_t kNormHeadDimMax = 256;
struct HeadNormArgs {
  void* qkv;           // [rows, stride] T; the heads begin at column `first`
  const void* weight;  // [head_dim] T
  int64_t rows, stride, first;
  int32_t heads, head_dim;
  float eps;
  NumberType type;
};
struct HeadNormBackwardArgs {
  void* dqkv;          // [rows, stride] T
  const void* qkv;     // [rows, stride] T
  const void* weight;  // [head_dim] T
  float* weight_sums;  // [kNormPartialSums, head_dim], written; or null
  int64_t rows, stride, first;
  int32_t heads, head_dim;  // head_dim: at most kNormHeadDimMax
  float eps;
  NumberType type;
};

// rotate turns the first `heads` heads of every row in place (model/rope.h), or back.
struct RotateArgs {
  void* qkv;                 // [rows, stride] T
  const int32_t* positions;  // [rows]
  const float* cos;          // [positions, head_dim / 2]
  const float* sin;
  int64_t rows, stride;
  int32_t heads, head_dim;
  bool backward;
  NumberType type;
};

// swiglu computes y = silu(gate) * up; swiglu_backward replaces the gradient of y by y, gates and
// ups by their gradients.
struct SwigluArgs {
  const void* gate_up;  // [rows, 2 * width] T: gates, then ups
  void* y;              // [rows, width] T
  int64_t rows, width;
  NumberType type;
};
struct SwigluBackwardArgs {
  void* dy;       // [rows, width] T
  void* gate_up;  // [rows, 2 * width] T
  int64_t rows, width;
  NumberType type;
};

// adamw does a step of one parameter, and sets its gradient to zero for the next. A bf16 weight's
// master is that weight and `low` (kernels/cpu/optimizer_kernels.h); an fp16 one has a master
// beside it; an f32 one is its own master, and `weight` is null.
struct AdamWArgs {
  kernels::AdamWStep step;
  float* gradient;  // [count] all
  float* moment1;
  float* moment2;
  void* weight;   // T
  int16_t* low;   // of bf16, else null
  float* master;  // else null
  int64_t count;
  NumberType type;
};

// sum_of_squares computes sums whose sum is that of x's squares; their number is fixed, and with it
// the order of the sum. They are not finite if an entry is not.
inline constexpr int64_t kSquareSums = 512;
struct SumOfSquaresArgs {
  const float* x;  // [count]
  double* sums;    // [kSquareSums], written
  int64_t count;
};

struct CudaKernels {
  LaunchError (*rms_norm)(const RmsNormArgs&, CudaStreamHandle);
  LaunchError (*silu_mul)(const SiluMulArgs&, CudaStreamHandle);
  LaunchError (*rotate_store)(const RotateStoreArgs&, CudaStreamHandle);
  LaunchError (*attend_splits)(const AttendSplitsArgs&, CudaStreamHandle);
  LaunchError (*merge_splits)(const MergeSplitsArgs&, CudaStreamHandle);
  LaunchError (*sample)(const SampleArgs&, CudaStreamHandle);
  LaunchError (*softmax_statistics)(const SoftmaxStatisticsArgs&, CudaStreamHandle);
  LaunchError (*softmax_gradient)(const SoftmaxGradientArgs&, CudaStreamHandle);
  LaunchError (*residual_add)(const ResidualAddArgs&, CudaStreamHandle);
  LaunchError (*rms_norm_backward)(const RmsNormBackwardArgs&, CudaStreamHandle);
  LaunchError (*head_norm)(const HeadNormArgs&, CudaStreamHandle);
  LaunchError (*head_norm_backward)(const HeadNormBackwardArgs&, CudaStreamHandle);
  LaunchError (*rotate)(const RotateArgs&, CudaStreamHandle);
  LaunchError (*swiglu)(const SwigluArgs&, CudaStreamHandle);
  LaunchError (*swiglu_backward)(const SwigluBackwardArgs&, CudaStreamHandle);
  LaunchError (*adamw)(const AdamWArgs&, CudaStreamHandle);
  LaunchError (*sum_of_squares)(const SumOfSquaresArgs&, CudaStreamHandle);
};

namespace on_cuda {
const CudaKernels& Kernels();  // They are there only where nvcc compiled them.
}
namespace emulated {
// These serve tests only; `stream` is ignored, work is done on return.
const CudaKernels& Kernels();
}  // namespace emulated

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_KERNELS_H_
