// The bodies of panel_kernels.h's functions on rows, for the instruction set WHETSTONE_ISA.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_ATTENTION_ROWS_BODY_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_ATTENTION_ROWS_BODY_H_

#include <cmath>
#include <cstring>

#include "gpu_trainer/kernels/cpu/panel_kernels.h"

namespace whetstone::WHETSTONE_ISA {
namespace attention_rows {
namespace {

constexpr float kLog2E = 1.44269504088896341f;

// Computes 2^x to a unit in the last place: the exponent takes the whole part, and a polynomial of
// least relative error the rest in [-0.5, 0.5].
inline Wide Exp2(Wide x) {
  const Wide whole = RoundToInteger(x);
  const Wide r = Sub(x, whole);
  Wide y = Splat(1.3276453828e-3f);
  y = MulAdd(y, r, Splat(9.6755409614e-3f));
  y = MulAdd(y, r, Splat(5.5507134646e-2f));
  y = MulAdd(y, r, Splat(0.24022120237f));
  y = MulAdd(y, r, Splat(0.69314694404f));
  y = MulAdd(y, r, Splat(1.0000001192f));
  return TimesPowerOf2(y, whole);
}

// Gradient holds p and ds of kWide scores of one row.
struct Gradient {
  Wide p, ds;
};
inline Gradient GradientAt(const ScoreRow& row, int64_t i, float scale) {
  const Mask mask = First(row.valid - i);
  const Wide x = MulAdd(Load(row.scores + i), Splat(scale * kLog2E), Splat(-row.log_sum * kLog2E));
  const Wide p = Select(mask, Exp2(x), Zero());
  const Wide change = Select(mask, Sub(Load(row.dp + i), Splat(row.dot)), Zero());
  return {p, Mul(Mul(p, change), Splat(scale))};
}

template <typename T>
ScoreSums Exponentials(const float* scores, int64_t n, int64_t valid, float scale, T* p) {
  Wide most = Splat(-3.4e38f);
  for (int64_t i = 0; i < valid; i += kWide) {
    most = Select(First(valid - i), Max(most, Load(scores + i)), most);
  }
  const float top = MaxLane(most);
  const Wide to_log2 = Splat(scale * kLog2E);
  const Wide shift = Splat(-top * scale * kLog2E);
  Wide sum = Zero();
  int64_t i = 0;
  for (; i < valid; i += kWide) {
    const Wide e = Select(First(valid - i), Exp2(MulAdd(Load(scores + i), to_log2, shift)), Zero());
    sum = Add(sum, e);
    Store(p + i, e);
  }
  for (; i < n; i += kWide) Store(p + i, Zero());
  const float total = SumLanes(sum);
  return {.log_sum = top * scale + std::log(total), .inverse_sum = 1 / total};
}

inline void Gradients(const ScoreRow* rows, int64_t /*count*/, int64_t n, float scale, float* ds,
                      int64_t /*ds_stride*/, float* ds_pairs, float* p_pairs) {
  for (int64_t i = 0; i < n; i += kWide) {
    const Gradient g = GradientAt(rows[0], i, scale);
    Store(p_pairs + i, g.p);
    Store(ds_pairs + i, g.ds);
    Store(ds + i, g.ds);
  }
}

template <typename T>
float Dot(const T* a, const T* b, int64_t n) {
  Wide sum = Zero();
  for (int64_t i = 0; i < n; i += kWide) {
    const Mask mask = First(n - i);
    sum = MulAdd(LoadFirst(a + i, mask), LoadFirst(b + i, mask), sum);
  }
  return SumLanes(sum);
}

template <typename T>
void Round(const float* x, int64_t n, float factor, T* y) {
  const Wide by = Splat(factor);
  int64_t i = 0;
  for (; i + kWide <= n; i += kWide) Store(y + i, Mul(Load(x + i), by));
  if (i < n) StoreFirst(y + i, First(n - i), Mul(LoadFirst(x + i, First(n - i)), by));
}

inline void Pack(const float* const* rows, int64_t /*count*/, int64_t n, float* packed) {
  std::memcpy(packed, rows[0], sizeof(float) * static_cast<size_t>(n));
}

}  // namespace
}  // namespace attention_rows
}  // namespace whetstone::WHETSTONE_ISA

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_ATTENTION_ROWS_BODY_H_
