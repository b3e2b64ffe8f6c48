// RMS norm with residual, and SwiGLU, are one pass each over f32 rows that a matrix product has
// just written, rounded once where the next one reads.
#include "gpu_trainer/kernels/cuda/cuda_code.h"

namespace whetstone::WHETSTONE_KERNELS {
namespace {

constexpr unsigned kThreads = 256;

// Every row has a block.
template <typename T>
__global__ void __launch_bounds__(kThreads) RmsNormKernel(RmsNormArgs args) {
  __shared__ float scratch[32];
  const int64_t row = blockIdx.x, n = args.width;
  float* x = args.x + row * n;
  const float* delta = args.delta != nullptr ? args.delta + row * n : nullptr;
  float sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    float value = x[i];
    if (delta != nullptr) x[i] = value += delta[i];
    sum += value * value;
  }
  sum = SumOverBlock(sum, scratch);
  const float scale = rsqrtf(sum / static_cast<float>(n) + args.eps);
  if (args.rstd != nullptr && threadIdx.x == 0) args.rstd[row] = scale;
  const T* weight = static_cast<const T*>(args.weight);
  T* y = static_cast<T*>(args.y) + row * n;
  // A thread reads what it wrote itself.
  for (int64_t i = threadIdx.x; i < n; i += kThreads) Put(x[i] * scale * ToFloat(weight[i]), y + i);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) SiluMulKernel(SiluMulArgs args) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x, n = args.width;
  if (i >= args.rows * n) return;
  const int64_t row = i / n, column = i % n;
  const float* gates = args.gate_up + row * 2 * n;
  const float gate = gates[column];
  Put(gate / (1.0f + expf(-gate)) * gates[n + column], static_cast<T*>(args.y) + i);
}

}  // namespace

LaunchError RmsNorm(const RmsNormArgs& args, CudaStreamHandle stream) {
  return WithType(args.type, [&]<typename T>() {
    return Launch(RmsNormKernel<T>, Grid(args.rows), kThreads, stream, args);
  });
}

LaunchError SiluMul(const SiluMulArgs& args, CudaStreamHandle stream) {
  return WithType(args.type, [&]<typename T>() {
    const int64_t blocks = (args.rows * args.width + kThreads - 1) / kThreads;
    return Launch(SiluMulKernel<T>, Grid(blocks), kThreads, stream, args);
  });
}

}  // namespace whetstone::WHETSTONE_KERNELS
