// These plain loops behind kernels/elementwise.h are compiled for several processor generations and
// chosen at load time. They are internal to kernels/. Inputs and sums are f32; results are rounded
// once, where a matrix product reads them. Everything is contiguous.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_ELEMENTWISE_CPU_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_ELEMENTWISE_CPU_H_

#include <cstdint>

#include "gpu_trainer/kernels/cpu/bf16.h"

namespace whetstone {

// Normalises one row of `n`. `delta` may be null; otherwise x += delta first (stored). y may be x.
void RmsNormRow(float* x, const float* delta, const Bf16* weight, float eps, int64_t n, Bf16* y);
void RmsNormRow(float* x, const float* delta, const float* weight, float eps, int64_t n, float* y);

// Computes y[i] = silu(gate[i]) * up[i].
void SiluMulRow(const float* gate, const float* up, int64_t n, Bf16* y);
void SiluMulRow(const float* gate, const float* up, int64_t n, float* y);

// Rotates one head of 2 * half numbers, in place.
void RopeHead(float* x, const float* cos, const float* sin, int64_t half);

// Computes y[i] = x[i] * scale.
void RoundRow(const float* x, float scale, int64_t n, Bf16* y);
void RoundRow(const float* x, float scale, int64_t n, float* y);

float MaxOf(const float* x, int64_t n);
// Returns the sum of exp((x[i] - shift) * scale).
double SumExp(const float* x, int64_t n, float shift, float scale);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_ELEMENTWISE_CPU_H_
