// Kernels draw the random numbers of common/philox.h by these: the bits are the same. Internal to
// kernels/.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CUDA_PHILOX_CUDA_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CUDA_PHILOX_CUDA_H_

#include <cstdint>

#include "gpu_trainer/kernels/cuda/cuda_code.h"

namespace whetstone::WHETSTONE_KERNELS {

inline __device__ uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// Returns the first Uniform() of Philox(seed, {s0, s1, s2, s3}).
inline __device__ double FirstUniform(uint64_t seed, uint64_t s0, uint64_t s1, uint64_t s2,
                                      uint64_t s3) {
  const uint64_t stream[4] = {s0, s1, s2, s3};
  uint64_t key = Mix(seed), high = Mix(~seed);
  for (int i = 0; i < 4; ++i) {
    key = Mix(key ^ stream[i]);
    high = Mix(high + stream[i]);
  }
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t c0 = 0, c1 = 0, c2 = static_cast<uint32_t>(high), c3 = static_cast<uint32_t>(high >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  const uint64_t bits = c0 | static_cast<uint64_t>(c1) << 32;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace whetstone::WHETSTONE_KERNELS

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CUDA_PHILOX_CUDA_H_
