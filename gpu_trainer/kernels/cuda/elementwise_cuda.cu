// RMS norm with residual, and SwiGLU, are one pass each over f32 rows that a matrix product has
// just written, rounded once where the next one reads.
#include "gpu_trainer/kernels/cuda/cuda_code.h"

namespace whetstone::WHETSTONE_KERNELS {
namespace {

constexpr unsigned kThreads = 256;

// Every row has a block, whose threads hold kHeld numbers each: all that is read is asked for
// before anything is waited for.
template <typename T, int kHeld>
__global__ void __launch_bounds__(kThreads) RmsNormKernel(RmsNormArgs args) {
  __shared__ float scratch[32];
  const int64_t row = blockIdx.x, n = args.width;
  float* x = args.x + row * n;
  const T* weight = static_cast<const T*>(args.weight);
  float held[kHeld] = {};
  T weights[kHeld] = {};
  ForHeld<kThreads, kHeld>(n, [&](int j, int64_t i) { held[j] = x[i]; });
  ForHeld<kThreads, kHeld>(n, [&](int j, int64_t i) { weights[j] = weight[i]; });
  if (args.delta != nullptr) {
    const float* delta = args.delta + row * n;
    ForHeld<kThreads, kHeld>(n, [&](int j, int64_t i) { held[j] += delta[i]; });
    ForHeld<kThreads, kHeld>(n, [&](int j, int64_t i) { x[i] = held[j]; });
  }
  float sum = 0;
  ForHeld<kThreads, kHeld>(n, [&](int j, int64_t) { sum += held[j] * held[j]; });
  sum = SumOverBlock(sum, scratch);
  const float scale = rsqrtf(sum / static_cast<float>(n) + args.eps);
  if (args.rstd != nullptr && threadIdx.x == 0) args.rstd[row] = scale;
  T* y = static_cast<T*>(args.y) + row * n;
  ForHeld<kThreads, kHeld>(
      n, [&](int j, int64_t i) { Put(held[j] * scale * ToFloat(weights[j]), y + i); });
}

// In the grid x is the row, and y which kThreads of its columns.
template <typename T>
__global__ void __launch_bounds__(kThreads) SiluMulKernel(SiluMulArgs args) {
  const int64_t row = blockIdx.x, n = args.width;
  const int64_t i = static_cast<int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float* gates = args.gate_up + row * 2 * n;
  const float gate = gates[i];
  Put(gate / (1.0f + expf(-gate)) * gates[n + i], static_cast<T*>(args.y) + row * n + i);
}

}  // namespace

LaunchError RmsNorm(const RmsNormArgs& args, CudaStreamHandle stream) {
  return WithType(args.type, [&]<typename T>() {
    return WithHeld<kThreads, kNormWidthMax>(args.width, [&]<int kHeld>() {
      return Launch(RmsNormKernel<T, kHeld>, Grid(args.rows), kThreads, stream, args);
    });
  });
}

LaunchError SiluMul(const SiluMulArgs& args, CudaStreamHandle stream) {
  return WithType(args.type, [&]<typename T>() {
    const int64_t blocks = (args.width + kThreads - 1) / kThreads;
    return Launch(SiluMulKernel<T>, Grid(args.rows, blocks), kThreads, stream, args);
  });
}

}  // namespace whetstone::WHETSTONE_KERNELS
