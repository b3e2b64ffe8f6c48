// AdamW's arithmetic, and the forms its state is stored in, are SIMD loops over runs of memory
// here: no tensors, no threads. They are compiled for several instruction sets, as row_kernels.h.
//
// A bf16 weight and 16 more bits make the f32 master: `high` is the master rounded to bf16 (a tie
// away from zero), `low` the signed distance of the master's bits from it. So weight and master
// take 4 bytes together, not 6, and nothing is lost.
//
// Moments in fewer bits are rounded stochastically: a number between two neighbours becomes the
// upper one with the probability of its share of the way, so that a mean moved by less than a
// rounding step still moves. The random bits are a hash of (seed, index): the same everywhere.
//
// 8 bits are block-wise dynamic quantization (Dettmers et al., arXiv 2110.02861): a block of kBlock
// numbers is divided by its largest magnitude, and each is stored as one of 256 values that cover
// seven decades.
#ifndef WHETSTONE_GPU_TRAINER_KERNELS_CPU_OPTIMIZER_KERNELS_H_
#define WHETSTONE_GPU_TRAINER_KERNELS_CPU_OPTIMIZER_KERNELS_H_

#include <cstdint>

namespace whetstone::kernels {

// Returns 32 well-mixed bits of x (Wellons' lowbias32). It is inlined by force: see simd.h.
inline __attribute__((always_inline)) uint32_t Hash(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

// In 8 bits so many numbers share one scale.
inline constexpr int64_t kBlock = 256;

// AdamWStep is one step of AdamW (Loshchilov and Hutter, arXiv 1711.05101; PyTorch's form).
struct AdamWStep {
  float gradient_scale = 1;  // clipping
  float lr = 0;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float eps = 1e-8f;
  float decay = 0;             // lr * weight_decay
  float correction1 = 1;       // 1 - beta1^t
  float sqrt_correction2 = 1;  // sqrt(1 - beta2^t)
};

struct OptimizerKernels {
  // Updates both moments and the master in place, and sets the gradient to zero for the next step.
  void (*adamw)(const AdamWStep& step, int64_t n, float* gradient, float* moment1, float* moment2,
                float* master);
  void (*join_master)(const uint16_t* high, const int16_t* low, int64_t n, float* master);
  void (*split_master)(const float* master, int64_t n, uint16_t* high, int16_t* low);
  void (*from_bf16)(const uint16_t* x, int64_t n, float* y);
  // Rounds stochastically; x[i] takes the bits of (seed, first + i).
  void (*to_bf16)(const float* x, int64_t n, uint32_t seed, int64_t first, uint16_t* y);
};
// Returns the best for this machine.
const OptimizerKernels& Optimizer();

// Returns the 256 values of 8 bits, ascending, the last one 1: bitsandbytes' "dynamic" map. The
// signed ones are for the first moment, the unsigned for the second, of which the square root is
// stored: its range of seven decades is then twice as wide as that of the moment itself.
const float* DynamicMap(bool is_signed);
// Unpacks one block, n <= kBlock: y[i] = map[x[i]] * scale.
void FromEightBits(const uint8_t* x, float scale, int64_t n, bool is_signed, float* y);
// Rounds stochastically, as to_bf16; but a signed number below the map's first value goes to the
// nearest of it and 0: a tiny first moment that chance rounds up would be a step of many times the
// learning rate. Returns the scale, the entry of the largest magnitude; 0 if all are 0.
float ToEightBits(const float* x, int64_t n, bool is_signed, uint32_t seed, int64_t first,
                  uint8_t* y);

// The sum is in double, and NaN or infinite if an entry is.
double SumOfSquares(const float* x, int64_t n);

}  // namespace whetstone::kernels

#endif  // WHETSTONE_GPU_TRAINER_KERNELS_CPU_OPTIMIZER_KERNELS_H_
