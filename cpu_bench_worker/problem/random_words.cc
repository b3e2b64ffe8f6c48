#include "cpu_bench_worker/problem/random_words.h"

// One body is compiled for three instruction sets; the loader picks. Sanitizers and ifuncs don't
// mix.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define WHETSTONE_VECTOR_CLONES
#else
#define WHETSTONE_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#endif

namespace whetstone {

WHETSTONE_VECTOR_CLONES
void RandomBlocks(uint64_t key, uint64_t block, size_t blocks, uint32_t* out) {
  constexpr size_t kLanes = 16;
  for (size_t b = 0; b < blocks; ++b, out += kRandomBlockWords) {
    uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
    const uint64_t first = (block + b) * kLanes;
    for (size_t i = 0; i < kLanes; ++i) {
      c0[i] = static_cast<uint32_t>(first + i);
      c1[i] = static_cast<uint32_t>((first + i) >> 32);
      c2[i] = 0;
      c3[i] = 0;
    }
    uint32_t k0 = static_cast<uint32_t>(key);
    uint32_t k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      for (size_t i = 0; i < kLanes; ++i) {
        const uint64_t p0 = uint64_t{0xD2511F53u} * c0[i];
        const uint64_t p1 = uint64_t{0xCD9E8D57u} * c2[i];
        const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
        const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
        c1[i] = static_cast<uint32_t>(p1);
        c3[i] = static_cast<uint32_t>(p0);
        c0[i] = n0;
        c2[i] = n2;
      }
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    for (size_t i = 0; i < kLanes; ++i) {
      out[i] = c0[i];
      out[kLanes + i] = c1[i];
      out[2 * kLanes + i] = c2[i];
      out[3 * kLanes + i] = c3[i];
    }
  }
}

}  // namespace whetstone
