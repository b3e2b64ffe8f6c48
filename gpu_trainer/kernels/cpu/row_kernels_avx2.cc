// The row and optimizer kernels for avx2; compiled with that instruction set (CMakeLists.txt).
#define WHETSTONE_ISA avx2
#include "gpu_trainer/kernels/cpu/optimizer_kernels_body.h"
#include "gpu_trainer/kernels/cpu/row_kernels_body.h"
