// The kernels' sources (.cu) share these types, reductions and launches. nvcc compiles them, or the
// host's compiler for the emulator (cuda_emulator.h). They are internal to kernels/.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_CODE_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_CODE_H_

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#define WHETSTONE_KERNELS on_cuda
#define WHETSTONE_UNROLL _Pragma("unroll")
#else
#include "gpu_trainer/kernels/cuda/cuda_emulator.h"
#define WHETSTONE_KERNELS emulated
#define WHETSTONE_UNROLL
#endif

#include <cstdint>
#include <type_traits>

#include "gpu_trainer/kernels/cuda/cuda_kernels.h"

namespace whetstone::WHETSTONE_KERNELS {

inline __device__ float ToFloat(float x) { return x; }
inline __device__ float ToFloat(__nv_bfloat16 x) { return __bfloat162float(x); }
inline __device__ float ToFloat(__half x) { return __half2float(x); }
inline __device__ void Put(float x, float* to) { *to = x; }
inline __device__ void Put(float x, __nv_bfloat16* to) { *to = __float2bfloat16(x); }
inline __device__ void Put(float x, __half* to) { *to = __float2half(x); }

// Reduces over `kLanes` neighbouring lanes, a power of two; every one gets the result.
template <int kLanes = 32>
__device__ float SumOverLanes(float x) {
  for (int mask = kLanes / 2; mask > 0; mask /= 2) x += __shfl_xor_sync(0xffffffffu, x, mask);
  return x;
}
template <int kLanes = 32>
__device__ float MaxOverLanes(float x) {
  for (int mask = kLanes / 2; mask > 0; mask /= 2) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, mask));
  }
  return x;
}

// Reduces over a block of whole warps, at most 32 of them; every thread gets the result. `scratch`
// [32] is shared memory that nothing else uses until the next barrier after the call.
inline __device__ float SumOverBlock(float x, float* scratch) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  x = SumOverLanes(x);
  if (lane == 0) scratch[warp] = x;
  __syncthreads();
  x = lane < blockDim.x / 32 ? scratch[lane] : 0.0f;
  return SumOverLanes(x);
}
inline __device__ float MaxOverBlock(float x, float* scratch) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  x = MaxOverLanes(x);
  if (lane == 0) scratch[warp] = x;
  __syncthreads();
  x = lane < blockDim.x / 32 ? scratch[lane] : -INFINITY;
  return MaxOverLanes(x);
}

// Calls body.operator()<T>() with the type of that name.
template <typename Body>
LaunchError WithType(NumberType type, const Body& body) {
  switch (type) {
    case NumberType::kFloat:
      return body.template operator()<float>();
    case NumberType::kBFloat16:
      return body.template operator()<__nv_bfloat16>();
    case NumberType::kHalf:
      return body.template operator()<__half>();
  }
  return "unknown number type";
}

// Of a row of n numbers each of a block's kThreads threads holds every kThreads-th, in registers:
// body(j, i) for the j-th of them, number i of the row.
template <unsigned kThreads, int kHeld, typename Body>
__device__ void ForHeld(int64_t n, const Body& body) {
  WHETSTONE_UNROLL
  for (int j = 0; j < kHeld; ++j) {
    const int64_t i = j * static_cast<int64_t>(kThreads) + threadIdx.x;
    if (i < n) body(j, i);
  }
}
// Calls body.operator()<kHeld>() with a number that is enough for rows of `width`.
template <unsigned kThreads, int64_t kWidthMax, typename Body>
LaunchError WithHeld(int64_t width, const Body& body) {
  if (width <= 4 * kThreads) return body.template operator()<4>();
  if (width <= 8 * kThreads) return body.template operator()<8>();
  if (width <= 16 * kThreads) return body.template operator()<16>();
  if (width <= kWidthMax) return body.template operator()<kWidthMax / kThreads>();
  return "rows are too wide";
}

// Runs kernel(args) with `threads` threads a block.
template <typename Args>
LaunchError Launch(void (*kernel)(Args), dim3 grid, unsigned threads, CudaStreamHandle stream,
                   const Args& args) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return nullptr;
#ifdef __CUDACC__
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.stream = static_cast<cudaStream_t>(stream);
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, args);
  if (error == cudaSuccess) return nullptr;
  cudaGetLastError();  // It is reported here, not by whoever asks next.
  return cudaGetErrorString(error);
#else
  static_cast<void>(stream);
  emulator::RunBlocks(grid, threads, [&] { kernel(args); });
  return nullptr;
#endif
}

inline dim3 Grid(int64_t x, int64_t y = 1, int64_t z = 1) {
  return {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
}

LaunchError RmsNorm(const RmsNormArgs& args, CudaStreamHandle stream);
LaunchError SiluMul(const SiluMulArgs& args, CudaStreamHandle stream);
LaunchError RotateStore(const RotateStoreArgs& args, CudaStreamHandle stream);
LaunchError AttendSplits(const AttendSplitsArgs& args, CudaStreamHandle stream);
LaunchError MergeSplits(const MergeSplitsArgs& args, CudaStreamHandle stream);
LaunchError Sample(const SampleArgs& args, CudaStreamHandle stream);
LaunchError SoftmaxStatistics(const SoftmaxStatisticsArgs& args, CudaStreamHandle stream);
LaunchError SoftmaxGradient(const SoftmaxGradientArgs& args, CudaStreamHandle stream);
LaunchError ResidualAdd(const ResidualAddArgs& args, CudaStreamHandle stream);
LaunchError RmsNormBackward(const RmsNormBackwardArgs& args, CudaStreamHandle stream);
LaunchError HeadNorm(const HeadNormArgs& args, CudaStreamHandle stream);
LaunchError HeadNormBackward(const HeadNormBackwardArgs& args, CudaStreamHandle stream);
LaunchError Rotate(const RotateArgs& args, CudaStreamHandle stream);
LaunchError Swiglu(const SwigluArgs& args, CudaStreamHandle stream);
LaunchError SwigluBackward(const SwigluBackwardArgs& args, CudaStreamHandle stream);
LaunchError AdamW(const AdamWArgs& args, CudaStreamHandle stream);
LaunchError SumOfSquares(const SumOfSquaresArgs& args, CudaStreamHandle stream);

}  // namespace whetstone::WHETSTONE_KERNELS

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_CODE_H_
