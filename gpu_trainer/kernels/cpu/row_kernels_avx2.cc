// These are the row and optimizer kernels for avx2; CMakeLists.txt has them compiled for it.
#define WHETSTONE_ISA avx2
#include "gpu_trainer/kernels/cpu/optimizer_kernels_body.h"
#include "gpu_trainer/kernels/cpu/row_kernels_body.h"
