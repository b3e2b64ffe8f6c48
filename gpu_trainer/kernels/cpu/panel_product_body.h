// The body of panel_kernels.h's product, for the instruction set WHETSTONE_ISA.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_PANEL_PRODUCT_BODY_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_PANEL_PRODUCT_BODY_H_

#include "gpu_trainer/kernels/cpu/panel_kernels.h"

namespace whetstone::WHETSTONE_ISA {
namespace panel_product {
namespace {

constexpr int64_t kWidth = kWide * kPanelVectors;

// Computes rows x (kWide * vectors) of c, the last columns by `masks` unless all are `whole`.
template <int rows, int vectors, bool whole, typename T>
inline void Tile(const PanelArgs<T>& args, int64_t row, int64_t column, const Mask* masks) {
  using F = Factors<T>;
  Wide sum[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      const float* c = args.c + (row + r) * args.c_stride + column + kWide * v;
      sum[r][v] = !args.add ? Zero() : whole ? Load(c) : LoadFirst(c, masks[v]);
    }
  }
  const T* a = args.a + row * args.a_stride;
  const T* b = args.b + column * F::kPair;
  for (int64_t i = 0; i < args.k; i += F::kPair, a += args.a_step, b += args.b_columns * F::kPair) {
    typename F::Vector columns[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      const T* from = b + kWide * v * F::kPair;
      columns[v] = whole ? F::Load(from) : F::LoadFirst(from, masks[v]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const typename F::Vector x = F::Splat(a + r * args.a_stride);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sum[r][v] = F::MulAdd(sum[r][v], x, columns[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      float* c = args.c + (row + r) * args.c_stride + column + kWide * v;
      if (whole) {
        Store(c, sum[r][v]);
      } else {
        StoreFirst(c, masks[v], sum[r][v]);
      }
    }
  }
}

template <int vectors, bool whole, typename T>
void Columns(const PanelArgs<T>& args, int64_t column, const Mask* masks) {
  int64_t row = 0;
  for (; row + kPanelRows <= args.m; row += kPanelRows) {
    Tile<kPanelRows, vectors, whole>(args, row, column, masks);
  }
  for (; row + 2 <= args.m; row += 2) Tile<2, vectors, whole>(args, row, column, masks);
  if (row < args.m) Tile<1, vectors, whole>(args, row, column, masks);
}

// Computes the last columns, which `vectors` or fewer hold.
template <int vectors, typename T>
void LastColumns(const PanelArgs<T>& args, int64_t column, const Mask* masks) {
  if (args.n - column > kWide * (vectors - 1)) {
    Columns<vectors, false>(args, column, masks);
  } else if constexpr (vectors > 1) {
    LastColumns<vectors - 1>(args, column, masks);
  }
}

template <typename T>
void Product(const PanelArgs<T>& args) {
  int64_t column = 0;
  for (; column + kWidth <= args.n; column += kWidth) {
    Columns<kPanelVectors, true>(args, column, nullptr);
  }
  if (column == args.n) return;
  Mask masks[kPanelVectors];
  for (int64_t v = 0; v < kPanelVectors; ++v) masks[v] = First(args.n - column - kWide * v);
  LastColumns<kPanelVectors>(args, column, masks);
}

}  // namespace
}  // namespace panel_product
}  // namespace whetstone::WHETSTONE_ISA

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_PANEL_PRODUCT_BODY_H_
