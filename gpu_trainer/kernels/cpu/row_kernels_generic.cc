// These are the row and optimizer kernels for every machine.
#define WHETSTONE_ISA generic
#include "gpu_trainer/kernels/cpu/optimizer_kernels_body.h"
#include "gpu_trainer/kernels/cpu/row_kernels_body.h"
