// These kernels are the optimizer's: one pass over all that a step reads and writes, 32 bytes a
// bf16 parameter, and the size of gradients.
#include "gpu_trainer/kernels/cuda/cuda_code.h"

namespace whetstone::WHETSTONE_KERNELS {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kPerThread = 4;
constexpr int64_t kPerBlock = kThreads * kPerThread;

// Where a parameter's master is, and how it is read and written.
template <typename T>
struct Masters {
  static __device__ float Get(const AdamWArgs& args, int64_t i) { return args.master[i]; }
  static __device__ void Set(float x, const AdamWArgs& args, int64_t i) {
    args.master[i] = x;
    if (args.weight != nullptr) Put(x, static_cast<T*>(args.weight) + i);
  }
};
template <>
struct Masters<__nv_bfloat16> {
  static __device__ float Get(const AdamWArgs& args, int64_t i) {
    const uint32_t high = static_cast<const uint16_t*>(args.weight)[i];
    return __uint_as_float((high << 16) + static_cast<uint32_t>(static_cast<int32_t>(args.low[i])));
  }
  static __device__ void Set(float x, const AdamWArgs& args, int64_t i) {
    const uint32_t bits = __float_as_uint(x), high = (bits + 0x8000u) >> 16;
    static_cast<uint16_t*>(args.weight)[i] = static_cast<uint16_t>(high);
    args.low[i] = static_cast<int16_t>(static_cast<uint16_t>(bits - (high << 16)));
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads) AdamWKernel(AdamWArgs args) {
  const kernels::AdamWStep& step = args.step;
  const float keep = 1.0f - step.decay, rate = step.lr / step.correction1;
  const float inverse = 1.0f / step.sqrt_correction2;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kPerBlock, n = args.count - first;
  float g[kPerThread] = {}, m[kPerThread] = {}, v[kPerThread] = {}, w[kPerThread] = {};
  ForHeld<kThreads, kPerThread>(n, [&](int j, int64_t i) {
    g[j] = args.gradient[first + i] * step.gradient_scale;
    m[j] = args.moment1[first + i];
    v[j] = args.moment2[first + i];
    w[j] = Masters<T>::Get(args, first + i);
  });
  ForHeld<kThreads, kPerThread>(n, [&](int j, int64_t i) {
    m[j] = m[j] * step.beta1 + g[j] * (1.0f - step.beta1);
    v[j] = v[j] * step.beta2 + g[j] * g[j] * (1.0f - step.beta2);
    args.gradient[first + i] = 0.0f;
    args.moment1[first + i] = m[j];
    args.moment2[first + i] = v[j];
    Masters<T>::Set(w[j] * keep - m[j] * rate / (sqrtf(v[j]) * inverse + step.eps), args,
                    first + i);
  });
}

// A block takes every kSquareSums-th run of kPerBlock numbers.
__global__ void __launch_bounds__(kThreads) SumOfSquaresKernel(SumOfSquaresArgs args) {
  __shared__ double of_thread[kThreads];
  double sum = 0;
  for (int64_t first = blockIdx.x * kPerBlock; first < args.count;
       first += kSquareSums * kPerBlock) {
    float x[kPerThread] = {};
    ForHeld<kThreads, kPerThread>(args.count - first,
                                  [&](int j, int64_t i) { x[j] = args.x[first + i]; });
    ForHeld<kThreads, kPerThread>(args.count - first, [&](int j, int64_t) {
      sum += static_cast<double>(x[j]) * static_cast<double>(x[j]);
    });
  }
  of_thread[threadIdx.x] = sum;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) of_thread[threadIdx.x] += of_thread[threadIdx.x + half];
  }
  if (threadIdx.x == 0) args.sums[blockIdx.x] = of_thread[0];
}

}  // namespace

LaunchError AdamW(const AdamWArgs& args, CudaStreamHandle stream) {
  return WithType(args.type, [&]<typename T>() {
    return Launch(AdamWKernel<T>, Grid((args.count + kPerBlock - 1) / kPerBlock), kThreads, stream,
                  args);
  });
}

LaunchError SumOfSquares(const SumOfSquaresArgs& args, CudaStreamHandle stream) {
  return Launch(SumOfSquaresKernel, Grid(kSquareSums), kThreads, stream, args);
}

}  // namespace whetstone::WHETSTONE_KERNELS
