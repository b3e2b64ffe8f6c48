// These are the row and optimizer kernels for avx512; CMakeLists.txt has them compiled for it.
#define WHETSTONE_ISA avx512
#include "gpu_trainer/kernels/cpu/optimizer_kernels_body.h"
#include "gpu_trainer/kernels/cpu/row_kernels_body.h"
