// These kernels are what the training pass does between two matrix products, and its gradients.
// Each rounds once; what a row is read for twice is near the second time.
#include "gpu_trainer/kernels/cuda/cuda_code.h"

namespace whetstone::WHETSTONE_KERNELS {
namespace {

constexpr unsigned kThreads = 256;

int64_t Blocks(int64_t numbers) { return (numbers + kThreads - 1) / kThreads; }

template <typename T>
__global__ void __launch_bounds__(kThreads) ResidualAddKernel(ResidualAddArgs args) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= args.count) return;
  args.y[i] = args.x[i] + ToFloat(static_cast<const T*>(args.delta)[i]);
}

// With h = x * rstd and g = dy * weight, dx += (g - h * mean(g * h)) * rstd, and the weight's
// gradient is the sum of dy * h over the rows. A block takes neighbouring rows; each of its threads
// keeps that sum for columns of its own.
template <typename T, int kHeld>
__global__ void __launch_bounds__(kThreads) RmsNormBackwardKernel(RmsNormBackwardArgs args) {
  __shared__ float scratch[2][32];
  const int64_t n = args.width;
  const T* weight = static_cast<const T*>(args.weight);
  const int64_t begin = args.rows * blockIdx.x / kNormPartialSums;
  const int64_t end = args.rows * (blockIdx.x + 1) / kNormPartialSums;
  const auto for_held = [n](const auto& body) { ForHeld<kThreads, kHeld>(n, body); };
  float weights[kHeld] = {}, sums[kHeld] = {}, slope[kHeld] = {}, h[kHeld] = {};
  for_held([&](int j, int64_t i) { weights[j] = ToFloat(weight[i]); });
  for (int64_t row = begin; row < end; ++row) {
    const T* dy = static_cast<const T*>(args.dy) + row * n;
    const float* x = args.x + row * n;
    float* dx = args.dx + row * n;
    const float rstd = args.rstd[row];
    for_held([&](int j, int64_t i) { slope[j] = ToFloat(dy[i]); });
    for_held([&](int j, int64_t i) { h[j] = x[i] * rstd; });
    float product = 0;
    for_held([&](int j, int64_t) { product += slope[j] * weights[j] * h[j]; });
    // Two places by turns: no thread is two rows ahead of another.
    const float mean = SumOverBlock(product, scratch[row % 2]) / static_cast<float>(n);
    for_held([&](int j, int64_t) { sums[j] += slope[j] * h[j]; });
    for_held(
        [&](int j, int64_t i) { h[j] = dx[i] + (slope[j] * weights[j] - h[j] * mean) * rstd; });
    for_held([&](int j, int64_t i) { dx[i] = h[j]; });
  }
  if (args.weight_sums == nullptr) return;
  float* out = args.weight_sums + static_cast<int64_t>(blockIdx.x) * n;
  for_held([&](int j, int64_t i) { out[i] = sums[j]; });
}

// A warp takes a head, and each of its lanes every 32nd number of it.
constexpr unsigned kWarps = kThreads / 32;
constexpr int kLaneNumbers = kNormHeadDimMax / 32;

template <typename T>
__global__ void __launch_bounds__(kThreads) HeadNormKernel(HeadNormArgs args) {
  const int64_t head = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (head >= args.rows * args.heads) return;
  const int64_t row = head / args.heads, d = args.head_dim;
  T* x = static_cast<T*>(args.qkv) + row * args.stride + args.first + head % args.heads * d;
  const T* weight = static_cast<const T*>(args.weight);
  float sum = 0;
  for (int64_t i = threadIdx.x % 32; i < d; i += 32) sum += ToFloat(x[i]) * ToFloat(x[i]);
  const float rstd = rsqrtf(SumOverLanes(sum) / static_cast<float>(d) + args.eps);
  for (int64_t i = threadIdx.x % 32; i < d; i += 32) {
    Put(ToFloat(x[i]) * rstd * ToFloat(weight[i]), x + i);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) HeadNormBackwardKernel(HeadNormBackwardArgs args) {
  __shared__ float of_warp[kWarps][kNormHeadDimMax];
  const int64_t d = args.head_dim, all = args.rows * args.heads;
  const int64_t begin = all * blockIdx.x / kNormPartialSums;
  const int64_t end = all * (blockIdx.x + 1) / kNormPartialSums;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const T* weight = static_cast<const T*>(args.weight);
  float sums[kLaneNumbers];
  WHETSTONE_UNROLL
  for (int j = 0; j < kLaneNumbers; ++j) sums[j] = 0;
  for (int64_t head = begin + warp; head < end; head += kWarps) {
    const int64_t at = head / args.heads * args.stride + args.first + head % args.heads * d;
    const T* x = static_cast<const T*>(args.qkv) + at;
    T* dy = static_cast<T*>(args.dqkv) + at;
    float squares = 0, product = 0;
    for (int64_t i = lane; i < d; i += 32) {
      const float number = ToFloat(x[i]);
      squares += number * number;
      product += ToFloat(dy[i]) * ToFloat(weight[i]) * number;
    }
    const float rstd = rsqrtf(SumOverLanes(squares) / static_cast<float>(d) + args.eps);
    const float mean = SumOverLanes(product) * rstd / static_cast<float>(d);
    WHETSTONE_UNROLL
    for (int j = 0; j < kLaneNumbers; ++j) {
      const int64_t i = j * 32 + lane;
      if (i >= d) break;
      const float h = ToFloat(x[i]) * rstd, slope = ToFloat(dy[i]);
      sums[j] += slope * h;
      Put((slope * ToFloat(weight[i]) - h * mean) * rstd, dy + i);
    }
  }
  if (args.weight_sums == nullptr) return;
  WHETSTONE_UNROLL
  for (int j = 0; j < kLaneNumbers; ++j) {
    if (j * 32 + lane < d) of_warp[warp][j * 32 + lane] = sums[j];
  }
  __syncthreads();
  for (int64_t i = threadIdx.x; i < d; i += kThreads) {
    float sum = 0;
    for (unsigned w = 0; w < kWarps; ++w) sum += of_warp[w][i];
    args.weight_sums[blockIdx.x * d + i] = sum;
  }
}

// Every row has a block.
template <typename T>
__global__ void __launch_bounds__(kThreads) RotateKernel(RotateArgs args) {
  const int64_t row = blockIdx.x, half = args.head_dim / 2, pairs = args.heads * half;
  const int64_t position = args.positions[row];
  const float* cos = args.cos + position * half;
  const float* sin = args.sin + position * half;
  T* numbers = static_cast<T*>(args.qkv) + row * args.stride;
  for (int64_t i = threadIdx.x; i < pairs; i += kThreads) {
    const int64_t pair = i % half;
    T* a = numbers + i / half * args.head_dim + pair;
    T* b = a + half;
    const float c = cos[pair], s = args.backward ? -sin[pair] : sin[pair];
    const float first = ToFloat(*a), second = ToFloat(*b);
    Put(first * c - second * s, a);
    Put(second * c + first * s, b);
  }
}

// In the grid of these two x is the row, and y which kThreads of its columns.
template <typename T>
__global__ void __launch_bounds__(kThreads) SwigluKernel(SwigluArgs args) {
  const int64_t row = blockIdx.x, n = args.width;
  const int64_t i = static_cast<int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  if (i >= n) return;
  const T* gates = static_cast<const T*>(args.gate_up) + row * 2 * n;
  const float gate = ToFloat(gates[i]);
  Put(gate / (1.0f + expf(-gate)) * ToFloat(gates[n + i]), static_cast<T*>(args.y) + row * n + i);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) SwigluBackwardKernel(SwigluBackwardArgs args) {
  const int64_t row = blockIdx.x, n = args.width;
  const int64_t i = static_cast<int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  if (i >= n) return;
  T* gates = static_cast<T*>(args.gate_up) + row * 2 * n;
  T* dy = static_cast<T*>(args.dy) + row * n + i;
  const float gate = ToFloat(gates[i]), up = ToFloat(gates[n + i]), slope = ToFloat(*dy);
  const float s = 1.0f / (1.0f + expf(-gate));
  Put(slope * up * s * (1.0f + gate * (1.0f - s)), gates + i);
  Put(slope * gate * s, gates + n + i);
  Put(gate * s * up, dy);
}

}  // namespace

LaunchError ResidualAdd(const ResidualAddArgs& args, CudaStreamHandle stream) {
  return WithType(args.type, [&]<typename T>() {
    return Launch(ResidualAddKernel<T>, Grid(Blocks(args.count)), kThreads, stream, args);
  });
}

LaunchError RmsNormBackward(const RmsNormBackwardArgs& args, CudaStreamHandle stream) {
  return WithType(args.type, [&]<typename T>() {
    return WithHeld<kThreads, kNormWidthMax>(args.width, [&]<int kHeld>() {
      return Launch(RmsNormBackwardKernel<T, kHeld>, Grid(kNormPartialSums), kThreads, stream,
                    args);
    });
  });
}

LaunchError HeadNorm(const HeadNormArgs& args, CudaStreamHandle stream) {
  const int64_t blocks = (args.rows * args.heads + kWarps - 1) / kWarps;
  return WithType(args.type, [&]<typename T>() {
    return Launch(HeadNormKernel<T>, Grid(blocks), kThreads, stream, args);
  });
}

LaunchError HeadNormBackward(const HeadNormBackwardArgs& args, CudaStreamHandle stream) {
  if (args.head_dim > kNormHeadDimMax) return "heads are too wide";
  return WithType(args.type, [&]<typename T>() {
    return Launch(HeadNormBackwardKernel<T>, Grid(kNormPartialSums), kThreads, stream, args);
  });
}

LaunchError Rotate(const RotateArgs& args, CudaStreamHandle stream) {
  return WithType(args.type, [&]<typename T>() {
    return Launch(RotateKernel<T>, Grid(args.rows), kThreads, stream, args);
  });
}

LaunchError Swiglu(const SwigluArgs& args, CudaStreamHandle stream) {
  return WithType(args.type, [&]<typename T>() {
    return Launch(SwigluKernel<T>, Grid(args.rows, Blocks(args.width)), kThreads, stream, args);
  });
}

LaunchError SwigluBackward(const SwigluBackwardArgs& args, CudaStreamHandle stream) {
  return WithType(args.type, [&]<typename T>() {
    return Launch(SwigluBackwardKernel<T>, Grid(args.rows, Blocks(args.width)), kThreads, stream,
                  args);
  });
}

}  // namespace whetstone::WHETSTONE_KERNELS
