// The row and optimizer kernels for every machine; compiled with that instruction set
// (CMakeLists.txt).
#define WHETSTONE_ISA generic
#include "gpu_trainer/kernels/cpu/optimizer_kernels_body.h"
#include "gpu_trainer/kernels/cpu/row_kernels_body.h"
