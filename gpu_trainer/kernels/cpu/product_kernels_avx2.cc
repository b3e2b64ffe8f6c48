// This file is compiled with AVX2 flags: include nothing here that defines shared inline functions.
#define WHETSTONE_ISA avx2
#include "gpu_trainer/kernels/cpu/lanes_avx2.h"
// The bodies are written in those lanes.
#include "gpu_trainer/kernels/cpu/attention_rows_body.h"
#include "gpu_trainer/kernels/cpu/decode_attention_body.h"
#include "gpu_trainer/kernels/cpu/decode_linear_body.h"
#include "gpu_trainer/kernels/cpu/panel_product_body.h"
#include "gpu_trainer/kernels/cpu/product_tables.h"

namespace whetstone::avx2 {

void Fill(DecodeKernels<float>* out) {
  out->linear_columns = decode_linear::Columns;
  out->attend = decode_attention::Attend;
}

void Fill(PanelKernels<float>* out) {
  *out = {.product = panel_product::Product,
          .exponentials = attention_rows::Exponentials,
          .gradients = attention_rows::Gradients,
          .dot = attention_rows::Dot,
          .round = attention_rows::Round,
          .pack = attention_rows::Pack};
}

}  // namespace whetstone::avx2
