#include "common/philox.h"

#include <cmath>

namespace whetstone {
namespace {

// Mix is SplitMix64's finalizer (Steele et al., 2014), which spreads small stream numbers over all
// bits.
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k = {k[0] + 0x9E3779B9u, k[1] + 0xBB67AE85u};
  }
  return c;
}

Philox::Philox(uint64_t seed, std::array<uint64_t, 4> stream) {
  uint64_t key = Mix(seed);
  uint64_t high = Mix(~seed);
  for (const uint64_t part : stream) {
    key = Mix(key ^ part);
    high = Mix(high + part);
  }
  key_ = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
  counter_ = {0, 0, static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)};
}

uint32_t Philox::Next32() {
  if (used_ == 4) {
    block_ = Philox4x32(counter_, key_);
    if (++counter_[0] == 0) ++counter_[1];
    used_ = 0;
  }
  return block_[static_cast<size_t>(used_++)];
}

uint64_t Philox::Next64() {
  const uint64_t low = Next32();
  return low | uint64_t{Next32()} << 32;
}

double Philox::Uniform() { return static_cast<double>(Next64() >> 11) * 0x1p-53; }

double Philox::Normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2.0 * std::log1p(-Uniform()));
  const double angle = 2.0 * M_PI * Uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_normal_ = true;
  return radius * std::cos(angle);
}

uint64_t Philox::Below(uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  Wide product = Wide{Next64()} * bound;
  if (static_cast<uint64_t>(product) < bound) {
    const uint64_t threshold = -bound % bound;
    while (static_cast<uint64_t>(product) < threshold) product = Wide{Next64()} * bound;
  }
  return static_cast<uint64_t>(product >> 64);
}

}  // namespace whetstone
