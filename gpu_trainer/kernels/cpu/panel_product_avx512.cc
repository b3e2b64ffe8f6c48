#include <immintrin.h>

#include <cstring>

#include "gpu_trainer/kernels/cpu/panel_product.h"

namespace whetstone {
namespace {

constexpr int64_t kRows = 6;
constexpr int64_t kVectors = 4;  // 24 sums, 4 vectors of b and one of a take 29 of 32 registers.
constexpr int64_t kWidth = 16 * kVectors;

// A step along k multiplies 16 columns of a pair of rows (bf16) or of one (float).
struct Bf16Step {
  using Vector = __m512bh;
  static Vector Broadcast(const uint16_t* a) {
    int32_t pair;
    std::memcpy(&pair, a, sizeof(pair));
    return (Vector)_mm512_set1_epi32(pair);
  }
  static Vector Load(const uint16_t* b, __mmask16 mask) {
    return (Vector)_mm512_maskz_loadu_epi32(mask, b);
  }
  static __m512 Add(__m512 sum, Vector a, Vector b) { return _mm512_dpbf16_ps(sum, a, b); }
};
struct FloatStep {
  using Vector = __m512;
  static Vector Broadcast(const float* a) { return _mm512_set1_ps(*a); }
  static Vector Load(const float* b, __mmask16 mask) { return _mm512_maskz_loadu_ps(mask, b); }
  static __m512 Add(__m512 sum, Vector a, Vector b) { return _mm512_fmadd_ps(a, b, sum); }
};
template <typename T>
struct StepOf {
  using Type = FloatStep;
};
template <>
struct StepOf<uint16_t> {
  using Type = Bf16Step;
};

// Computes rows x (16 * vectors) of c, the last columns by `masks`.
template <int rows, int vectors, typename T>
inline void Tile(const PanelArgs<T>& args, int64_t row, int64_t column, const __mmask16* masks) {
  using Step = typename StepOf<T>::Type;
  constexpr int64_t pair = kPanelPair<T>;
  __m512 sum[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      sum[r][v] = args.add ? _mm512_maskz_loadu_ps(
                                 masks[v], args.c + (row + r) * args.c_stride + column + 16 * v)
                           : _mm512_setzero_ps();
    }
  }
  const T* a = args.a + row * args.a_stride;
  const T* b = args.b + column * pair;
  for (int64_t i = 0; i < args.k; i += pair, a += args.a_step, b += args.b_columns * pair) {
    typename Step::Vector columns[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) columns[v] = Step::Load(b + 16 * v * pair, masks[v]);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const typename Step::Vector x = Step::Broadcast(a + r * args.a_stride);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sum[r][v] = Step::Add(sum[r][v], x, columns[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      _mm512_mask_storeu_ps(args.c + (row + r) * args.c_stride + column + 16 * v, masks[v],
                            sum[r][v]);
    }
  }
}

template <int vectors, typename T>
void Columns(const PanelArgs<T>& args, int64_t column, const __mmask16* masks) {
  int64_t row = 0;
  for (; row + kRows <= args.m; row += kRows) Tile<kRows, vectors>(args, row, column, masks);
  for (; row + 2 <= args.m; row += 2) Tile<2, vectors>(args, row, column, masks);
  if (row < args.m) Tile<1, vectors>(args, row, column, masks);
}

template <typename T>
void Product(const PanelArgs<T>& args) {
  for (int64_t column = 0; column < args.n; column += kWidth) {
    const int64_t columns = args.n - column < kWidth ? args.n - column : kWidth;
    __mmask16 masks[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) {
      const int64_t left = columns - 16 * v;
      masks[v] = left >= 16 ? 0xffff : left <= 0 ? 0 : static_cast<__mmask16>((1u << left) - 1);
    }
    if (columns > 48) {
      Columns<4>(args, column, masks);
    } else if (columns > 32) {
      Columns<3>(args, column, masks);
    } else if (columns > 16) {
      Columns<2>(args, column, masks);
    } else {
      Columns<1>(args, column, masks);
    }
  }
}

}  // namespace

void PanelProduct(const PanelArgs<uint16_t>& args) { Product(args); }
void PanelProduct(const PanelArgs<float>& args) { Product(args); }

}  // namespace whetstone
