// Philox4x32-10 is a counter-based random number generator: the n-th number is a function of (key,
// n), so results do not depend on who draws first (Salmon et al., "Parallel Random Numbers: As Easy
// as 1, 2, 3", SC 2011).
//
//   Philox rng(seed, {step, problem, sample, position});
//   double u = rng.Uniform();
//
// Not thread-safe; cheap to make, so make one per use.
#ifndef WHETSTONE_COMMON_PHILOX_H_
#define WHETSTONE_COMMON_PHILOX_H_

#include <array>
#include <cstdint>

namespace whetstone {

// Philox4x32 is the raw block function: ten rounds over `counter` with `key`.
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

class Philox {
 public:
  // Each (seed, stream) has an independent stream: `stream` is hashed into key and upper counter.
  Philox(uint64_t seed, std::array<uint64_t, 4> stream);
  uint32_t Next32();
  uint64_t Next64();
  // Returns a number in [0, 1) with 53 bits.
  double Uniform();
  // Returns a standard normal number (Box-Muller, the second value kept).
  double Normal();
  // Returns a uniform number in [0, bound), bound >= 1; it is unbiased (Lemire, 2019).
  uint64_t Below(uint64_t bound);

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
};

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_PHILOX_H_
