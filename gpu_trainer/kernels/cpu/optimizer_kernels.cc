#include "gpu_trainer/kernels/cpu/optimizer_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "gpu_trainer/kernels/cpu/isa.h"
#include "gpu_trainer/kernels/cpu/simd.h"

namespace whetstone::kernels {

#define WHETSTONE_DECLARE_ISA(isa)  \
  namespace isa {                   \
  void Fill(OptimizerKernels* out); \
  }
WHETSTONE_DECLARE_ISA(generic)
#if defined(__x86_64__)
WHETSTONE_DECLARE_ISA(avx2)
WHETSTONE_DECLARE_ISA(avx512)
#endif
#undef WHETSTONE_DECLARE_ISA

const OptimizerKernels& Optimizer() {
  static const OptimizerKernels best = [] {
    OptimizerKernels table;
    generic::Fill(&table);
#if defined(__x86_64__)
    if (BestIsa() == Isa::kAvx2) avx2::Fill(&table);
    if (BestIsa() == Isa::kAvx512) avx512::Fill(&table);
#endif
    return table;
  }();
  return best;
}

namespace {

// Decade i of seven, 10^(i-6), has 2^i values (unsigned: 2^(i+1)), the middles of equal parts of
// [0.1, 1] times the decade. 0 and 1 are in the map besides.
std::array<float, 256> MakeDynamicMap(bool is_signed) {
  std::vector<double> values = {0, 1};
  for (int decade = 0; decade < 7; ++decade) {
    const int parts = 1 << (is_signed ? decade : decade + 1);
    for (int p = 0; p < parts; ++p) {
      const double middle = std::pow(10, decade - 6) * (0.1 + 0.9 * (p + 0.5) / parts);
      values.push_back(middle);
      if (is_signed) values.push_back(-middle);
    }
  }
  std::sort(values.begin(), values.end());
  std::array<float, 256> map;
  std::copy(values.begin(), values.end(), map.begin());
  return map;
}

// DynamicCode is the map and a table that finds a number's place in it. For the upper 16 bits of a
// number in [0, 1], the table holds the last code not above it if it ends in zeros. The code of the
// number itself is that one or, because a step of those bits is shorter than any of the map, the
// next.
struct DynamicCode {
  explicit DynamicCode(bool is_signed) : map(MakeDynamicMap(is_signed)), zero(0) {
    while (map[static_cast<size_t>(zero)] < 0) ++zero;
    for (size_t bits = 0; bits < floor_of.size(); ++bits) {
      const float x = simd::ToFloat(static_cast<uint16_t>(bits));
      floor_of[bits] = static_cast<uint8_t>(std::upper_bound(map.begin() + zero, map.end(), x) -
                                            map.begin() - 1);
    }
  }
  std::array<float, 256> map;
  int zero;                              // The code of 0.
  std::array<uint8_t, 0x3f81> floor_of;  // It goes up to 1.0, 0x3f80.
};

const DynamicCode& CodeOf(bool is_signed) {
  static const DynamicCode with_sign(true), without(false);
  return is_signed ? with_sign : without;
}

}  // namespace

const float* DynamicMap(bool is_signed) { return CodeOf(is_signed).map.data(); }

void FromEightBits(const uint8_t* x, float scale, int64_t n, bool is_signed, float* y) {
  const float* map = DynamicMap(is_signed);
  for (int64_t i = 0; i < n; ++i) y[i] = map[x[i]] * scale;
}

float ToEightBits(const float* x, int64_t n, bool is_signed, uint32_t seed, int64_t first,
                  uint8_t* y) {
  const DynamicCode& code = CodeOf(is_signed);
  // The scale has a sign, so that the largest entry divides to 1, which is in the map; -1 is not.
  float scale = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > std::fabs(scale)) scale = x[i];
  }
  if (scale == 0) {
    std::memset(y, code.zero, static_cast<size_t>(n));
    return 0;
  }
  for (int64_t i = 0; i < n; ++i) {
    const float part = x[i] / scale;
    const float magnitude = std::min(1.0f, std::fabs(part));
    uint32_t bits;
    std::memcpy(&bits, &magnitude, sizeof(bits));
    int c = code.floor_of[bits >> 16];
    if (c < 255 && magnitude >= code.map[static_cast<size_t>(c + 1)]) ++c;
    if (c < 255) {
      const float below = code.map[static_cast<size_t>(c)];
      const float above = code.map[static_cast<size_t>(c + 1)];
      const float random =
          is_signed && c == code.zero
              ? 0.5f
              : static_cast<float>(Hash(seed + static_cast<uint32_t>(first + i)) >> 8) * 0x1p-24f;
      if (random * (above - below) < magnitude - below) ++c;
    }
    // A negative code mirrors that of its magnitude; that of 1 has no mirror, its neighbour serves.
    y[i] = static_cast<uint8_t>(part < 0 ? std::max(0, 2 * code.zero - c) : c);
  }
  return scale;
}

double SumOfSquares(const float* x, int64_t n) {
  constexpr int64_t kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) {
      lanes[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
    }
  }
  for (; i < n; ++i) lanes[0] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace whetstone::kernels
