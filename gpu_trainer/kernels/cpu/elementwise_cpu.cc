#include "gpu_trainer/kernels/cpu/elementwise_cpu.h"

#include <cmath>

// GCC makes one version of a function per listed feature level and picks at load time. (These are
// levels because a model, "arch=skylake-avx512", would be chosen on that very processor only.)
#define WHETSTONE_VECTOR \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))

namespace whetstone {
namespace {

// With so many partial sums the compiler may use vectors without reordering our additions.
constexpr int64_t kLanes = 16;

// Computes e^x to 2 units in the last place: 2^n * p(r), |r| <= ln(2)/2 (Cephes expf). There are no
// branches, so that loops over it become vector code. Below -87 the result is 0 or a tiny number.
inline __attribute__((always_inline)) float FastExp(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  // Adding and taking away 1.5 * 2^23 rounds to an integer.
  const float n = (x * 1.44269504088896341f + 12582912.0f) - 12582912.0f;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const int32_t bits = (static_cast<int32_t>(n) + 127) << 23;
  float scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return p * scale;
}

inline __attribute__((always_inline)) void Put(float x, Bf16* to) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  // NaN must not become infinity by the carry: its sign-less bits are above infinity's.
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  to->bits = static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
}
inline __attribute__((always_inline)) void Put(float x, float* to) { *to = x; }

template <typename T>
inline __attribute__((always_inline)) void RmsNormImpl(float* x, const float* delta,
                                                       const T* weight, float eps, int64_t n,
                                                       T* y) {
  if (delta != nullptr) {
    for (int64_t i = 0; i < n; ++i) x[i] += delta[i];
  }
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) lanes[j] += x[i + j] * x[i + j];
  }
  float sum = 0;
  for (; i < n; ++i) sum += x[i] * x[i];
  for (const float lane : lanes) sum += lane;
  const float scale = 1.0f / std::sqrt(sum / static_cast<float>(n) + eps);
  for (i = 0; i < n; ++i) Put(x[i] * scale * ToFloat(weight[i]), y + i);
}

template <typename T>
inline __attribute__((always_inline)) void SiluMulImpl(const float* __restrict gate,
                                                       const float* __restrict up, int64_t n,
                                                       T* __restrict y) {
  for (int64_t i = 0; i < n; ++i) {
    // This is not gate / (1 + e): GCC divides separately by the e of FastExp's bounds, for all
    // lanes, and denormal quotients, though nobody uses them, take a hundred cycles.
    Put(gate[i] * (1.0f / (1.0f + FastExp(-gate[i]))) * up[i], y + i);
  }
}

}  // namespace

WHETSTONE_VECTOR void RmsNormRow(float* x, const float* delta, const Bf16* weight, float eps,
                                 int64_t n, Bf16* y) {
  RmsNormImpl(x, delta, weight, eps, n, y);
}
WHETSTONE_VECTOR void RmsNormRow(float* x, const float* delta, const float* weight, float eps,
                                 int64_t n, float* y) {
  RmsNormImpl(x, delta, weight, eps, n, y);
}
WHETSTONE_VECTOR void SiluMulRow(const float* gate, const float* up, int64_t n, Bf16* y) {
  SiluMulImpl(gate, up, n, y);
}
WHETSTONE_VECTOR void SiluMulRow(const float* gate, const float* up, int64_t n, float* y) {
  SiluMulImpl(gate, up, n, y);
}

WHETSTONE_VECTOR void RoundRow(const float* __restrict x, float scale, int64_t n,
                               Bf16* __restrict y) {
  for (int64_t i = 0; i < n; ++i) Put(x[i] * scale, y + i);
}
WHETSTONE_VECTOR void RoundRow(const float* __restrict x, float scale, int64_t n,
                               float* __restrict y) {
  for (int64_t i = 0; i < n; ++i) Put(x[i] * scale, y + i);
}

WHETSTONE_VECTOR void RopeHead(float* x, const float* cos, const float* sin, int64_t half) {
  for (int64_t i = 0; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    x[i] = a * cos[i] - b * sin[i];
    x[i + half] = b * cos[i] + a * sin[i];
  }
}

WHETSTONE_VECTOR float MaxOf(const float* x, int64_t n) {
  float lanes[kLanes];
  for (float& lane : lanes) lane = -INFINITY;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
  }
  float most = -INFINITY;
  for (; i < n; ++i) most = x[i] > most ? x[i] : most;
  for (const float lane : lanes) most = lane > most ? lane : most;
  return most;
}

WHETSTONE_VECTOR double SumExp(const float* x, int64_t n, float shift, float scale) {
  // The sums are f32 lanes over short stretches and f64 across them: 150,000 additions lose nothing
  // that matters.
  constexpr int64_t kStretch = 1024;
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kStretch) {
    const int64_t end = begin + kStretch < n ? begin + kStretch : n;
    float lanes[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (int64_t j = 0; j < kLanes; ++j) lanes[j] += FastExp((x[i + j] - shift) * scale);
    }
    for (; i < end; ++i) total += FastExp((x[i] - shift) * scale);
    for (const float lane : lanes) total += lane;
  }
  return total;
}

}  // namespace whetstone
