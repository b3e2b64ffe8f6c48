// This file makes the table of all kernels.
#include "gpu_trainer/kernels/cuda/cuda_code.h"

namespace whetstone::WHETSTONE_KERNELS {

const CudaKernels& Kernels() {
  static const CudaKernels kernels = {
      RmsNorm,  SiluMul,           RotateStore,     AttendSplits, MergeSplits,
      Sample,   SoftmaxStatistics, SoftmaxGradient, ResidualAdd,  RmsNormBackward,
      HeadNorm, HeadNormBackward,  Rotate,          Swiglu,       SwigluBackward,
      AdamW,    SumOfSquares};
  return kernels;
}

}  // namespace whetstone::WHETSTONE_KERNELS
