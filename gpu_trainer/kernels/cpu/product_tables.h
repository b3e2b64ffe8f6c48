// The product kernels of each instruction set, for product_kernels.cc, which picks one, and its
// test.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_PRODUCT_TABLES_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_PRODUCT_TABLES_H_

#include <cstdint>

#include "gpu_trainer/kernels/cpu/bf16.h"
#include "gpu_trainer/kernels/cpu/decode_kernels.h"
#include "gpu_trainer/kernels/cpu/panel_kernels.h"

namespace whetstone {
namespace avx2 {

void Fill(DecodeKernels<float>* out);
void Fill(PanelKernels<float>* out);

}  // namespace avx2
namespace avx512 {

void Fill(DecodeKernels<float>* out);
void Fill(DecodeKernels<Bf16>* out);
void Fill(PanelKernels<float>* out);
void Fill(PanelKernels<uint16_t>* out);

}  // namespace avx512
}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_PRODUCT_TABLES_H_
