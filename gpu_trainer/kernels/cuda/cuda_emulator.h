// Runs kernels written in CUDA C++ on the CPU, for tests: the words of the language that our
// kernels use, on one thread. A block's threads are fibers that run in turns from barrier to
// barrier, in an order that changes from turn to turn, so that a missing barrier shows. A barrier
// that not all threads reach ends the process with a message.
//
// Matrix fragments (nvcuda::wmma) hold 16 × 16 numbers; sums are f32, as on the hardware.
// Not thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_EMULATOR_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_EMULATOR_H_

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

// These are CUDA's own names, which the kernels are written in.
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

namespace whetstone::emulator {

struct Index {
  dim3 thread, block, block_dim, grid_dim;
};
extern Index index;

void SyncThreads();
void SyncWarp();
// Every lane gives `bits` and gets those of the lane `from`.
uint64_t Exchange(uint64_t bits, unsigned from);

// Runs all blocks, one after the other.
void RunBlocks(dim3 grid, unsigned threads, const std::function<void()>& kernel);

template <typename T>
T Shuffle(T value, unsigned from) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = Exchange(bits, from);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace whetstone::emulator

#define threadIdx (whetstone::emulator::index.thread)
#define blockIdx (whetstone::emulator::index.block)
#define blockDim (whetstone::emulator::index.block_dim)
#define gridDim (whetstone::emulator::index.grid_dim)

inline void __syncthreads() { whetstone::emulator::SyncThreads(); }
inline void __syncwarp() { whetstone::emulator::SyncWarp(); }
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return whetstone::emulator::Shuffle(value, threadIdx.x % 32 ^ static_cast<unsigned>(mask));
}
inline int32_t atomicMin(int32_t* at, int32_t value) {
  const int32_t before = *at;
  if (value < before) *at = value;
  return before;
}
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline uint32_t __float_as_uint(float x) { return std::bit_cast<uint32_t>(x); }
inline float __uint_as_float(uint32_t bits) { return std::bit_cast<float>(bits); }

struct __nv_bfloat16 {
  uint16_t bits;
};
struct __half {
  uint16_t bits;
};
inline float __bfloat162float(__nv_bfloat16 x) {
  return __uint_as_float(static_cast<uint32_t>(x.bits) << 16);
}
inline __nv_bfloat16 __float2bfloat16(float x) {
  const uint32_t bits = __float_as_uint(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fff};
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}
inline float __half2float(__half x) { return _cvtsh_ss(x.bits); }
inline __half __float2half(float x) { return {static_cast<uint16_t>(_cvtss_sh(x, 0))}; }

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major };

inline float Widen(__nv_bfloat16 x) { return __bfloat162float(x); }
inline float Widen(__half x) { return __half2float(x); }

// Every lane holds a whole factor, but only its own eight numbers of a sum.
template <typename Use, int M, int N, int K, typename T, typename Layout = void>
struct fragment {
  float numbers[M * K];
};
template <int M, int N, int K>
struct fragment<accumulator, M, N, K, float, void> {
  float numbers[M * N / 32];
};

template <int M, int N, int K>
void fill_fragment(fragment<accumulator, M, N, K, float>& c, float value) {
  for (float& x : c.numbers) x = value;
}

template <typename Use, int M, int N, int K, typename T, typename Layout>
void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f, const T* from, unsigned stride) {
  if (reinterpret_cast<uintptr_t>(from) % 32 != 0 || stride % 8 != 0) __builtin_trap();
  constexpr bool kColumns = std::is_same_v<Layout, col_major>;
  for (unsigned i = 0; i < 16; ++i) {
    for (unsigned j = 0; j < 16; ++j) {
      f.numbers[i * 16 + j] = Widen(kColumns ? from[j * stride + i] : from[i * stride + j]);
    }
  }
}

template <int M, int N, int K, typename A, typename B>
void mma_sync(fragment<accumulator, M, N, K, float>& d, const A& a, const B& b,
              const fragment<accumulator, M, N, K, float>& c) {
  const unsigned lane = threadIdx.x % 32;
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned at = lane * 8 + i;
    float sum = c.numbers[i];
    for (unsigned k = 0; k < 16; ++k) {
      sum += a.numbers[at / 16 * 16 + k] * b.numbers[k * 16 + at % 16];
    }
    d.numbers[i] = sum;
  }
}

template <int M, int N, int K>
void store_matrix_sync(float* to, const fragment<accumulator, M, N, K, float>& c, unsigned stride,
                       layout_t) {
  if (reinterpret_cast<uintptr_t>(to) % 32 != 0 || stride % 4 != 0) __builtin_trap();
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned at = threadIdx.x % 32 * 8 + i;
    to[at / 16 * stride + at % 16] = c.numbers[i];
  }
}

}  // namespace nvcuda::wmma

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CUDA_CUDA_EMULATOR_H_
