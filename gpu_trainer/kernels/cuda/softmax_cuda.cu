// These kernels compute the language-model head's loss over a chunk of logits: one pass finds what
// every row is, another its gradient.
#include "gpu_trainer/kernels/cuda/cuda_code.h"

namespace whetstone::WHETSTONE_KERNELS {
namespace {

constexpr int kThreads = 512;

// Every row has a block. Each thread keeps the maximum m so far, the sum of exp(y - m) and that of
// (y - m) * exp(y - m) over its numbers y; a new maximum rescales both.
__global__ void __launch_bounds__(kThreads) StatisticsKernel(SoftmaxStatisticsArgs args) {
  __shared__ float max_scratch[32], sum_scratch[32], slope_scratch[32];
  const int64_t row = blockIdx.x;
  const float* logits = args.logits + row * args.vocab;
  float most = -INFINITY, sum = 0, slope = 0;
  for (int64_t i = threadIdx.x; i < args.vocab; i += kThreads) {
    const float y = logits[i] * args.scale;
    if (y > most) {
      const float shift = most - y;  // It is -inf at first, when there is nothing to rescale.
      slope = sum != 0 ? (slope + shift * sum) * expf(shift) : 0.0f;
      sum = sum != 0 ? sum * expf(shift) : 0.0f;
      most = y;
    }
    const float e = expf(y - most);
    sum += e;
    slope += y < most ? (y - most) * e : y - y;  // NaN stays NaN
  }
  const float all = MaxOverBlock(most, max_scratch);
  // A thread without numbers has nothing to rescale either.
  const float shift = most - all, share = most == -INFINITY ? 0.0f : expf(shift);
  slope = share > 0 ? (slope + shift * sum) * share : slope * 0.0f;
  slope = SumOverBlock(slope, slope_scratch);
  sum = SumOverBlock(sum * share, sum_scratch);
  if (threadIdx.x != 0) return;
  const float log_sum = logf(sum);
  args.log_sum[row] = all + log_sum;
  args.entropy[row] = log_sum - slope / sum;
  args.logprob[row] = logits[args.targets[row]] * args.scale - all - log_sum;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) GradientKernel(SoftmaxGradientArgs args) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t row = blockIdx.y;
  if (at >= args.count) return;
  const int64_t id = args.first + at;
  const float log_p = args.logits[row * args.vocab + id] * args.scale - args.log_sum[row];
  const float c = args.c[row], h = args.h[row];
  const float chosen = args.targets[row] == id ? c : 0.0f;
  const float gradient = chosen - expf(log_p) * (c + h * (log_p + args.entropy[row]));
  Put(args.scale * gradient, static_cast<T*>(args.gradient) + row * args.count + at);
}

}  // namespace

LaunchError SoftmaxStatistics(const SoftmaxStatisticsArgs& args, CudaStreamHandle stream) {
  return Launch(StatisticsKernel, Grid(args.rows), kThreads, stream, args);
}

LaunchError SoftmaxGradient(const SoftmaxGradientArgs& args, CudaStreamHandle stream) {
  return WithType(args.type, [&]<typename T>() {
    return Launch(GradientKernel<T>, Grid((args.count + kThreads - 1) / kThreads, args.rows),
                  kThreads, stream, args);
  });
}

}  // namespace whetstone::WHETSTONE_KERNELS
