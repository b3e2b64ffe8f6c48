// The loops of row_kernels.h are compiled once per instruction set: row_kernels_avx512.cc and its
// siblings define WHETSTONE_ISA (a namespace) and include this; nothing else may.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_ROW_KERNELS_BODY_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_ROW_KERNELS_BODY_H_

#include <cmath>

#include "gpu_trainer/kernels/cpu/row_kernels.h"
#include "gpu_trainer/kernels/cpu/simd.h"

namespace whetstone::kernels::WHETSTONE_ISA {
namespace {

using simd::Exp;
using simd::kLanes;
using simd::Load;
using simd::LoadPart;
using simd::Splat;
using simd::Store;
using simd::StorePart;
using simd::Sum;
using simd::V;

// Calls full(i) for each whole vector of [0, n) and part(i, rest) for what is left.
template <typename Full, typename Part>
WHETSTONE_INLINE void ForEachVector(int64_t n, const Full& full, const Part& part) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) full(i);
  if (i < n) part(i, n - i);
}

template <typename T>
void ResidualAddOf(const float* x, const T* delta, int64_t n, float* y) {
  ForEachVector(
      n, [&](int64_t i) { Store(y + i, Load(x + i) + Load(delta + i)); },
      [&](int64_t i, int64_t rest) {
        StorePart(y + i, LoadPart(x + i, rest) + LoadPart(delta + i, rest), rest);
      });
}

// Returns 1 / sqrt(mean(x^2) + eps) of d numbers.
template <typename T>
WHETSTONE_INLINE float InverseRms(const T* x, int64_t d, float eps) {
  V squares{};
  ForEachVector(
      d, [&](int64_t i) { squares += Load(x + i) * Load(x + i); },
      [&](int64_t i, int64_t rest) {
        const V a = LoadPart(x + i, rest);
        squares += a * a;
      });
  return 1.0f / std::sqrt(Sum(squares) / static_cast<float>(d) + eps);
}

template <typename T>
void RmsNormForwardOf(const float* x, const T* weight, int64_t n, int64_t c, float eps, T* y,
                      float* rstd) {
  for (int64_t row = 0; row < n; ++row, x += c, y += c) {
    const float r = rstd[row] = InverseRms(x, c, eps);
    ForEachVector(
        c, [&](int64_t i) { Store(y + i, Load(x + i) * r * Load(weight + i)); },
        [&](int64_t i, int64_t rest) {
          StorePart(y + i, LoadPart(x + i, rest) * r * LoadPart(weight + i, rest), rest);
        });
  }
}

// With h = x * rstd and g = dy * weight: dx = rstd * (g - h * mean(g * h)), dweight = dy * h.
template <typename T>
void RmsNormBackwardOf(const T* dy, const float* x, const T* weight, const float* rstd, int64_t n,
                       int64_t c, float* dx, float* dweight) {
  for (int64_t row = 0; row < n; ++row, dy += c, x += c, dx += c) {
    const float r = rstd[row];
    V dot{};
    ForEachVector(
        c,
        [&](int64_t i) {
          const V dyh = Load(dy + i) * (Load(x + i) * r);
          dot += dyh * Load(weight + i);
          Store(dweight + i, Load(dweight + i) + dyh);
        },
        [&](int64_t i, int64_t rest) {
          const V dyh = LoadPart(dy + i, rest) * (LoadPart(x + i, rest) * r);
          dot += dyh * LoadPart(weight + i, rest);
          StorePart(dweight + i, LoadPart(dweight + i, rest) + dyh, rest);
        });
    const float mean = Sum(dot) / static_cast<float>(c);
    const auto gradient = [&](V g, V h) { return (g - h * mean) * r; };
    ForEachVector(
        c,
        [&](int64_t i) {
          Store(dx + i, Load(dx + i) + gradient(Load(dy + i) * Load(weight + i), Load(x + i) * r));
        },
        [&](int64_t i, int64_t rest) {
          StorePart(
              dx + i,
              LoadPart(dx + i, rest) + gradient(LoadPart(dy + i, rest) * LoadPart(weight + i, rest),
                                                LoadPart(x + i, rest) * r),
              rest);
        });
  }
}

template <typename T>
void HeadNormOf(T* x, const T* weight, int64_t n, int64_t stride, int64_t heads, int64_t d,
                float eps) {
  for (int64_t row = 0; row < n; ++row, x += stride) {
    for (int64_t head = 0; head < heads; ++head) {
      T* h = x + head * d;
      const float r = InverseRms(h, d, eps);
      ForEachVector(
          d, [&](int64_t i) { Store(h + i, Load(h + i) * r * Load(weight + i)); },
          [&](int64_t i, int64_t rest) {
            StorePart(h + i, LoadPart(h + i, rest) * r * LoadPart(weight + i, rest), rest);
          });
    }
  }
}

// Does as RmsNormBackwardOf, head by head.
template <typename T>
void HeadNormBackwardOf(T* dx, const T* x, const T* weight, int64_t n, int64_t stride,
                        int64_t heads, int64_t d, float eps, float* dweight) {
  for (int64_t row = 0; row < n; ++row, dx += stride, x += stride) {
    for (int64_t head = 0; head < heads; ++head) {
      T* dy = dx + head * d;
      const T* in = x + head * d;
      const float r = InverseRms(in, d, eps);
      V dot{};
      ForEachVector(
          d,
          [&](int64_t i) {
            const V dyh = Load(dy + i) * (Load(in + i) * r);
            dot += dyh * Load(weight + i);
            Store(dweight + i, Load(dweight + i) + dyh);
          },
          [&](int64_t i, int64_t rest) {
            const V dyh = LoadPart(dy + i, rest) * (LoadPart(in + i, rest) * r);
            dot += dyh * LoadPart(weight + i, rest);
            StorePart(dweight + i, LoadPart(dweight + i, rest) + dyh, rest);
          });
      const float mean = Sum(dot) / static_cast<float>(d);
      ForEachVector(
          d,
          [&](int64_t i) {
            Store(dy + i, (Load(dy + i) * Load(weight + i) - Load(in + i) * r * mean) * r);
          },
          [&](int64_t i, int64_t rest) {
            const V g = LoadPart(dy + i, rest) * LoadPart(weight + i, rest);
            StorePart(dy + i, (g - LoadPart(in + i, rest) * r * mean) * r, rest);
          });
    }
  }
}

template <typename T>
void RopeOf(T* x, int64_t n, int64_t stride, int64_t heads, int64_t d, const int32_t* positions,
            const float* cos, const float* sin, float direction) {
  const int64_t half = d / 2;
  for (int64_t row = 0; row < n; ++row, x += stride) {
    const float* cosines = cos + positions[row] * half;
    const float* sines = sin + positions[row] * half;
    for (int64_t head = 0; head < heads; ++head) {
      T* first = x + head * d;
      T* second = first + half;
      ForEachVector(
          half,
          [&](int64_t i) {
            const V a = Load(first + i), b = Load(second + i);
            const V co = Load(cosines + i), si = Load(sines + i) * direction;
            Store(first + i, a * co - b * si);
            Store(second + i, b * co + a * si);
          },
          [&](int64_t i, int64_t rest) {
            const V a = LoadPart(first + i, rest), b = LoadPart(second + i, rest);
            const V co = LoadPart(cosines + i, rest), si = LoadPart(sines + i, rest) * direction;
            StorePart(first + i, a * co - b * si, rest);
            StorePart(second + i, b * co + a * si, rest);
          });
    }
  }
}

WHETSTONE_INLINE V Sigmoid(V x) { return 1.0f / (1.0f + Exp(-x)); }

template <typename T>
void SwigluForwardOf(const T* gate_up, int64_t n, int64_t c, T* y) {
  for (int64_t row = 0; row < n; ++row, gate_up += 2 * c, y += c) {
    ForEachVector(
        c,
        [&](int64_t i) {
          const V g = Load(gate_up + i);
          Store(y + i, g * Sigmoid(g) * Load(gate_up + c + i));
        },
        [&](int64_t i, int64_t rest) {
          const V g = LoadPart(gate_up + i, rest);
          StorePart(y + i, g * Sigmoid(g) * LoadPart(gate_up + c + i, rest), rest);
        });
  }
}

template <typename T>
void SwigluBackwardOf(T* dy, int64_t n, int64_t c, T* gate_up) {
  const auto gradient = [](V dy_i, V g, V u, V* y, V* dg, V* du) {
    const V s = Sigmoid(g);
    const V gs = g * s;
    *y = gs * u;
    *du = dy_i * gs;
    *dg = dy_i * u * s * (1.0f + g * (1.0f - s));
  };
  for (int64_t row = 0; row < n; ++row, gate_up += 2 * c, dy += c) {
    ForEachVector(
        c,
        [&](int64_t i) {
          V y, dg, du;
          gradient(Load(dy + i), Load(gate_up + i), Load(gate_up + c + i), &y, &dg, &du);
          Store(gate_up + i, dg);
          Store(gate_up + c + i, du);
          Store(dy + i, y);
        },
        [&](int64_t i, int64_t rest) {
          V y, dg, du;
          gradient(LoadPart(dy + i, rest), LoadPart(gate_up + i, rest),
                   LoadPart(gate_up + c + i, rest), &y, &dg, &du);
          StorePart(gate_up + i, dg, rest);
          StorePart(gate_up + c + i, du, rest);
          StorePart(dy + i, y, rest);
        });
  }
}

SoftmaxRow SoftmaxStatisticsOf(const float* logits, int64_t c, float scale) {
  constexpr float kLowest = -3.4e38f;
  V most = Splat(kLowest);
  ForEachVector(
      c, [&](int64_t i) { most = simd::Max(most, Load(logits + i) * scale); },
      [&](int64_t i, int64_t rest) {
        for (int64_t j = 0; j < rest; ++j) {
          const float x = logits[i + j] * scale;
          if (x > most[j]) most[j] = x;
        }
      });
  const float top = simd::MaxLane(most);
  // They sum e^(x - top), and (x - top) e^(x - top).
  V sum{}, weighted{};
  ForEachVector(
      c,
      [&](int64_t i) {
        const V x = Load(logits + i) * scale - top;
        const V e = Exp(x);
        sum += e;
        weighted += x * e;
      },
      [&](int64_t i, int64_t rest) {
        for (int64_t j = 0; j < rest; ++j) {
          const float x = logits[i + j] * scale - top;
          const float e = std::exp(x);
          sum[j] += e;
          weighted[j] += x * e;
        }
      });
  const float total = Sum(sum);
  const float log_total = std::log(total);
  return {top + log_total, log_total - Sum(weighted) / total};
}

template <typename T>
void SoftmaxGradientOf(const float* logits, int64_t c, float scale, const SoftmaxRow& row,
                       const SoftmaxLossGradient& dloss, int64_t target, T* gradient) {
  if (dloss.logprob == 0 && dloss.entropy == 0) {  // No exponentials are needed.
    ForEachVector(
        c, [&](int64_t i) { Store(gradient + i, V{}); },
        [&](int64_t i, int64_t rest) { StorePart(gradient + i, V{}, rest); });
    return;
  }
  const float by_logprob = dloss.logprob * scale, by_entropy = dloss.entropy * scale;
  // The gradient is p_j * (by_logprob + by_entropy * (log p_j + H)), all constants gathered.
  const float base = by_logprob + by_entropy * row.entropy;
  const auto at = [&](V logit) {
    const V log_p = logit * scale - row.log_sum;
    return Exp(log_p) * (log_p * -by_entropy - base);
  };
  ForEachVector(
      c, [&](int64_t i) { Store(gradient + i, at(Load(logits + i))); },
      [&](int64_t i, int64_t rest) {
        StorePart(gradient + i, at(LoadPart(logits + i, rest)), rest);
      });
  if (target < 0 || target >= c) return;
  const float log_p = logits[target] * scale - row.log_sum;
  const float p = std::exp(log_p);
  StorePart(gradient + target,
            Splat(by_logprob * (1.0f - p) - p * by_entropy * (log_p + row.entropy)), 1);
}

template <typename T>
void AccumulateOf(const T* x, int64_t n, float* sum) {
  ForEachVector(
      n, [&](int64_t i) { Store(sum + i, Load(sum + i) + Load(x + i)); },
      [&](int64_t i, int64_t rest) {
        StorePart(sum + i, LoadPart(sum + i, rest) + LoadPart(x + i, rest), rest);
      });
}

}  // namespace

template <typename T>
void Fill(RowKernels<T>* out) {
  out->residual_add = ResidualAddOf<T>;
  out->rms_norm_forward = RmsNormForwardOf<T>;
  out->rms_norm_backward = RmsNormBackwardOf<T>;
  out->head_norm = HeadNormOf<T>;
  out->head_norm_backward = HeadNormBackwardOf<T>;
  out->rope = RopeOf<T>;
  out->swiglu_forward = SwigluForwardOf<T>;
  out->swiglu_backward = SwigluBackwardOf<T>;
  out->softmax_gradient = SoftmaxGradientOf<T>;
  out->accumulate = AccumulateOf<T>;
}

SoftmaxRow SoftmaxStatistics(const float* logits, int64_t c, float scale) {
  return SoftmaxStatisticsOf(logits, c, scale);
}

template void Fill(RowKernels<float>* out);
template void Fill(RowKernels<uint16_t>* out);

}  // namespace whetstone::kernels::WHETSTONE_ISA

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_ROW_KERNELS_BODY_H_
