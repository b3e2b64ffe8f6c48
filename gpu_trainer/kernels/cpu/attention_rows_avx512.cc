#include <immintrin.h>

#include <cmath>
#include <cstring>

#include "gpu_trainer/kernels/cpu/attention_rows.h"
#include "gpu_trainer/kernels/cpu/panel_product.h"

namespace whetstone::attention_rows {
namespace {

constexpr float kLog2E = 1.44269504088896341f;

__mmask16 First(int64_t n) {
  return n >= 16 ? 0xffff : n <= 0 ? 0 : static_cast<__mmask16>((1u << n) - 1);
}

// Computes 2^x to a unit in the last place: the exponent takes the whole part, and a polynomial of
// least relative error the rest in [-0.5, 0.5].
__m512 Exp2(__m512 x) {
  const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 r = _mm512_sub_ps(x, whole);
  __m512 y = _mm512_set1_ps(1.3276453828e-3f);
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(9.6755409614e-3f));
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(5.5507134646e-2f));
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(0.24022120237f));
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(0.69314694404f));
  y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(1.0000001192f));
  return _mm512_scalef_ps(y, whole);
}

__m512 LoadFirst(const float* x, __mmask16 mask) { return _mm512_maskz_loadu_ps(mask, x); }
__m512 LoadFirst(const uint16_t* x, __mmask16 mask) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, x));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

__m256i ToBf16(__m512 x) { return (__m256i)_mm512_cvtneps_pbh(x); }
void Store(float* y, __m512 x) { _mm512_storeu_ps(y, x); }
void Store(uint16_t* y, __m512 x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), ToBf16(x)); }
void StoreFirst(float* y, __mmask16 mask, __m512 x) { _mm512_mask_storeu_ps(y, mask, x); }
void StoreFirst(uint16_t* y, __mmask16 mask, __m512 x) {
  _mm256_mask_storeu_epi16(y, mask, ToBf16(x));
}

// Stores sixteen columns of two rows of bf16, a column's pair together.
void StorePair(uint16_t* packed, __m256i first, __m256i second) {
  const __m512i high = _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16);
  _mm512_storeu_si512(packed, _mm512_or_si512(_mm512_cvtepu16_epi32(first), high));
}

// Gradient holds p and ds of sixteen scores of one row.
struct Gradient {
  __m512 p, ds;
};
Gradient GradientAt(const ScoreRow& row, int64_t i, float scale) {
  const __mmask16 mask = First(row.valid - i);
  const __m512 x = _mm512_fmadd_ps(_mm512_loadu_ps(row.scores + i), _mm512_set1_ps(scale * kLog2E),
                                   _mm512_set1_ps(-row.log_sum * kLog2E));
  const __m512 p = _mm512_maskz_mov_ps(mask, Exp2(x));
  const __m512 change =
      _mm512_maskz_sub_ps(mask, _mm512_loadu_ps(row.dp + i), _mm512_set1_ps(row.dot));
  return {p, _mm512_mul_ps(_mm512_mul_ps(p, change), _mm512_set1_ps(scale))};
}

}  // namespace

template <typename T>
Softmax Exponentials(const float* scores, int64_t n, int64_t valid, float scale, T* p) {
  __m512 most = _mm512_set1_ps(-3.4e38f);
  for (int64_t i = 0; i < valid; i += 16) {
    most = _mm512_mask_max_ps(most, First(valid - i), most, _mm512_loadu_ps(scores + i));
  }
  const float top = _mm512_reduce_max_ps(most);
  const __m512 to_log2 = _mm512_set1_ps(scale * kLog2E);
  const __m512 shift = _mm512_set1_ps(-top * scale * kLog2E);
  __m512 sum = _mm512_setzero_ps();
  int64_t i = 0;
  for (; i < valid; i += 16) {
    const __m512 e = _mm512_maskz_mov_ps(
        First(valid - i), Exp2(_mm512_fmadd_ps(_mm512_loadu_ps(scores + i), to_log2, shift)));
    sum = _mm512_add_ps(sum, e);
    Store(p + i, e);
  }
  for (; i < n; i += 16) Store(p + i, _mm512_setzero_ps());
  const float total = _mm512_reduce_add_ps(sum);
  return {.log_sum = top * scale + std::log(total), .inverse_sum = 1 / total};
}
template Softmax Exponentials(const float*, int64_t, int64_t, float, uint16_t*);
template Softmax Exponentials(const float*, int64_t, int64_t, float, float*);

template <>
void Gradients(const ScoreRow* rows, int64_t count, int64_t n, float scale, uint16_t* ds,
               int64_t ds_stride, uint16_t* ds_pairs, uint16_t* p_pairs) {
  for (int64_t i = 0; i < n; i += 16) {
    const Gradient first = GradientAt(rows[0], i, scale);
    const Gradient second = count == 2 ? GradientAt(rows[1], i, scale)
                                       : Gradient{_mm512_setzero_ps(), _mm512_setzero_ps()};
    StorePair(p_pairs + 2 * i, ToBf16(first.p), ToBf16(second.p));
    const __m256i ds_first = ToBf16(first.ds), ds_second = ToBf16(second.ds);
    StorePair(ds_pairs + 2 * i, ds_first, ds_second);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(ds + i), ds_first);
    if (count == 2) _mm256_storeu_si256(reinterpret_cast<__m256i*>(ds + ds_stride + i), ds_second);
  }
}
template <>
void Gradients(const ScoreRow* rows, int64_t /*count*/, int64_t n, float scale, float* ds,
               int64_t /*ds_stride*/, float* ds_pairs, float* p_pairs) {
  for (int64_t i = 0; i < n; i += 16) {
    const Gradient g = GradientAt(rows[0], i, scale);
    Store(p_pairs + i, g.p);
    Store(ds_pairs + i, g.ds);
    Store(ds + i, g.ds);
  }
}

template <typename T>
float Dot(const T* a, const T* b, int64_t n) {
  __m512 sum = _mm512_setzero_ps();
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 mask = First(n - i);
    sum = _mm512_fmadd_ps(LoadFirst(a + i, mask), LoadFirst(b + i, mask), sum);
  }
  return _mm512_reduce_add_ps(sum);
}
template float Dot(const uint16_t*, const uint16_t*, int64_t);
template float Dot(const float*, const float*, int64_t);

template <typename T>
void Round(const float* x, int64_t n, float factor, T* y) {
  const __m512 by = _mm512_set1_ps(factor);
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 mask = First(n - i);
    StoreFirst(y + i, mask, _mm512_mul_ps(LoadFirst(x + i, mask), by));
  }
}
template void Round(const float*, int64_t, float, uint16_t*);
template void Round(const float*, int64_t, float, float*);

template <>
void PackPair(const uint16_t* const* rows, int64_t count, int64_t n, uint16_t* packed) {
  const auto load = [](const uint16_t* x, __mmask16 mask) {
    return _mm256_maskz_loadu_epi16(mask, x);
  };
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 mask = First(n - i);
    const __m512i low = _mm512_cvtepu16_epi32(load(rows[0] + i, mask));
    const __m512i high =
        count == 2 ? _mm512_cvtepu16_epi32(load(rows[1] + i, mask)) : _mm512_setzero_si512();
    _mm512_mask_storeu_epi32(packed + 2 * i, mask,
                             _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
  }
}
template <>
void PackPair(const float* const* rows, int64_t /*count*/, int64_t n, float* packed) {
  std::memcpy(packed, rows[0], sizeof(float) * static_cast<size_t>(n));
}

}  // namespace whetstone::attention_rows
