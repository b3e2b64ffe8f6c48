// The loops of optimizer_kernels.h are compiled once per instruction set: see row_kernels_body.h.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_OPTIMIZER_KERNELS_BODY_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_OPTIMIZER_KERNELS_BODY_H_

#include <cmath>
#include <cstring>

#include "gpu_trainer/kernels/cpu/optimizer_kernels.h"
#include "gpu_trainer/kernels/cpu/simd.h"

namespace whetstone::kernels::WHETSTONE_ISA {
namespace {

void AdamWOf(const AdamWStep& step, int64_t n, float* gradient, float* moment1, float* moment2,
             float* master) {
  using simd::Load, simd::LoadPart, simd::Store, simd::StorePart, simd::V, simd::kLanes;
  const float keep = 1.0f - step.decay;
  const float rate = step.lr / step.correction1;
  const float inverse = 1.0f / step.sqrt_correction2;
  const auto one = [&](V g, V* m, V* v, V* w) {
    g *= step.gradient_scale;
    *m = *m * step.beta1 + g * (1.0f - step.beta1);
    *v = *v * step.beta2 + g * g * (1.0f - step.beta2);
    V root;
    for (int64_t j = 0; j < kLanes; ++j) root[j] = std::sqrt((*v)[j]);
    *w = *w * keep - *m * rate / (root * inverse + step.eps);
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    V m = Load(moment1 + i), v = Load(moment2 + i), w = Load(master + i);
    one(Load(gradient + i), &m, &v, &w);
    Store(gradient + i, V{});
    Store(moment1 + i, m);
    Store(moment2 + i, v);
    Store(master + i, w);
  }
  if (const int64_t rest = n - i; rest > 0) {
    V m = LoadPart(moment1 + i, rest), v = LoadPart(moment2 + i, rest);
    V w = LoadPart(master + i, rest);
    one(LoadPart(gradient + i, rest), &m, &v, &w);
    StorePart(gradient + i, V{}, rest);
    StorePart(moment1 + i, m, rest);
    StorePart(moment2 + i, v, rest);
    StorePart(master + i, w, rest);
  }
}

// Plain loops follow: integer work that the compiler turns into vector code itself.

WHETSTONE_INLINE uint32_t BitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}
WHETSTONE_INLINE float FloatOf(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

void JoinMasterOf(const uint16_t* high, const int16_t* low, int64_t n, float* master) {
  for (int64_t i = 0; i < n; ++i) {
    master[i] = FloatOf((static_cast<uint32_t>(high[i]) << 16) +
                        static_cast<uint32_t>(static_cast<int32_t>(low[i])));
  }
}

void SplitMasterOf(const float* master, int64_t n, uint16_t* high, int16_t* low) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = BitsOf(master[i]);
    const uint32_t rounded = (bits + 0x8000u) >> 16;
    high[i] = static_cast<uint16_t>(rounded);
    low[i] = static_cast<int16_t>(static_cast<uint16_t>(bits - (rounded << 16)));
  }
}

void FromBf16Of(const uint16_t* x, int64_t n, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = FloatOf(static_cast<uint32_t>(x[i]) << 16);
}

void ToBf16Of(const float* x, int64_t n, uint32_t seed, int64_t first, uint16_t* y) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t random = Hash(seed + static_cast<uint32_t>(first + i));
    y[i] = static_cast<uint16_t>((BitsOf(x[i]) + (random >> 16)) >> 16);
  }
}

}  // namespace

void Fill(OptimizerKernels* out) {
  *out = {.adamw = AdamWOf,
          .join_master = JoinMasterOf,
          .split_master = SplitMasterOf,
          .from_bf16 = FromBf16Of,
          .to_bf16 = ToBf16Of};
}

}  // namespace whetstone::kernels::WHETSTONE_ISA

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_OPTIMIZER_KERNELS_BODY_H_
