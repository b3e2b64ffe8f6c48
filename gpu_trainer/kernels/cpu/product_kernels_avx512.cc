// This file is compiled with AVX-512 flags: include nothing here that defines shared inline
// functions.
#define WHETSTONE_ISA avx512
#include "gpu_trainer/kernels/cpu/lanes_avx512.h"
// The bodies are written in those lanes.
#include "gpu_trainer/kernels/cpu/attention_rows_body.h"
#include "gpu_trainer/kernels/cpu/decode_attention_body.h"
#include "gpu_trainer/kernels/cpu/decode_linear_body.h"
#include "gpu_trainer/kernels/cpu/panel_product_body.h"
#include "gpu_trainer/kernels/cpu/product_tables.h"

namespace whetstone::avx512 {
namespace attention_rows {
namespace {

// Bf16 is packed in pairs of rows.
void Gradients(const ScoreRow* rows, int64_t count, int64_t n, float scale, uint16_t* ds,
               int64_t ds_stride, uint16_t* ds_pairs, uint16_t* p_pairs) {
  const Mask all = First(kWide);
  for (int64_t i = 0; i < n; i += kWide) {
    const Gradient first = GradientAt(rows[0], i, scale);
    const Gradient second = count == 2 ? GradientAt(rows[1], i, scale) : Gradient{Zero(), Zero()};
    StorePairs(p_pairs + 2 * i, all, ToHalves(first.p), ToHalves(second.p));
    const Halves ds_first = ToHalves(first.ds), ds_second = ToHalves(second.ds);
    StorePairs(ds_pairs + 2 * i, all, ds_first, ds_second);
    StoreHalves(ds + i, ds_first);
    if (count == 2) StoreHalves(ds + ds_stride + i, ds_second);
  }
}

void Pack(const uint16_t* const* rows, int64_t count, int64_t n, uint16_t* packed) {
  for (int64_t i = 0; i < n; i += kWide) {
    const Mask mask = First(n - i);
    const Halves second = count == 2 ? LoadHalves(rows[1] + i, mask) : _mm256_setzero_si256();
    StorePairs(packed + 2 * i, mask, LoadHalves(rows[0] + i, mask), second);
  }
}

}  // namespace
}  // namespace attention_rows

namespace {

template <typename T>
void FillDecode(DecodeKernels<T>* out) {
  out->linear_columns = decode_linear::Columns;
  out->attend = decode_attention::Attend;
}

template <typename T>
void FillPanel(PanelKernels<T>* out) {
  *out = {.product = panel_product::Product,
          .exponentials = attention_rows::Exponentials,
          .gradients = attention_rows::Gradients,
          .dot = attention_rows::Dot,
          .round = attention_rows::Round,
          .pack = attention_rows::Pack};
}

}  // namespace

void Fill(DecodeKernels<float>* out) { FillDecode(out); }
void Fill(DecodeKernels<Bf16>* out) { FillDecode(out); }
void Fill(PanelKernels<float>* out) { FillPanel(out); }
void Fill(PanelKernels<uint16_t>* out) { FillPanel(out); }

}  // namespace whetstone::avx512
