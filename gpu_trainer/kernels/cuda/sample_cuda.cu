// These kernels draw tokens from logits. The vocabulary is summed in vocabulary blocks
// (VocabBlock), all rows and all of them at once; then a thread block for each row finds the
// vocabulary block that the draw falls into, and the token within it, as kernels/sample.cc does:
// the logits are read once.
#include "gpu_trainer/kernels/cuda/cuda_code.h"
#include "gpu_trainer/kernels/cuda/philox_cuda.h"

namespace whetstone::WHETSTONE_KERNELS {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = kVocabBlockTokens / kThreads;

__device__ int64_t VocabBlocksOf(int64_t vocab) {
  return (vocab + kVocabBlockTokens - 1) / kVocabBlockTokens;
}

// A thread block sums one vocabulary block of one row: block (vocabulary block, row).
__global__ void __launch_bounds__(kThreads) VocabBlockKernel(SampleArgs args) {
  __shared__ float max_scratch[32], sum_scratch[32];
  __shared__ int32_t best;
  const int64_t row = blockIdx.y, begin = static_cast<int64_t>(blockIdx.x) * kVocabBlockTokens;
  const float* logits = args.logits + row * args.vocab + begin;
  const int32_t n = static_cast<int32_t>(
      args.vocab - begin < kVocabBlockTokens ? args.vocab - begin : kVocabBlockTokens);
  const float scale = args.scale > 0 ? args.scale : 1.0f;
  float most = -INFINITY;
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < n; i += kThreads) {
    most = fmaxf(most, logits[i]);
  }
  most = MaxOverBlock(most, max_scratch);
  if (threadIdx.x == 0) best = n;
  float sum = 0;
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < n; i += kThreads) {
    sum += expf((logits[i] - most) * scale);
  }
  sum = SumOverBlock(sum, sum_scratch);  // Its barrier also publishes `best`.
  if (args.scale <= 0) {
    for (int32_t i = static_cast<int32_t>(threadIdx.x); i < n; i += kThreads) {
      if (logits[i] == most) atomicMin(&best, i);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    args.vocab_blocks[row * VocabBlocksOf(args.vocab) + blockIdx.x] = {
        most, sum, static_cast<int32_t>(begin) + best};
  }
}

// Takes from *rest the masses it is not less than, from the first on, but never the last, and
// returns how many. Eight are read before one is looked at: reading takes longer than comparing.
__device__ int32_t TakeMasses(const double* masses, int32_t count, double* rest) {
  constexpr int32_t kAhead = 8;
  for (int32_t first = 0; first < count; first += kAhead) {
    double next[kAhead];
    WHETSTONE_UNROLL
    for (int32_t j = 0; j < kAhead; ++j) next[j] = first + j < count ? masses[first + j] : 0;
    WHETSTONE_UNROLL
    for (int32_t j = 0; j < kAhead; ++j) {
      if (first + j + 1 >= count || !(*rest >= next[j])) return first + j;
      *rest -= next[j];
    }
  }
  return 0;
}

// Every row has a block.
__global__ void __launch_bounds__(kThreads) DrawKernel(SampleArgs args) {
  __shared__ float scratch[32];
  __shared__ double masses[kVocabBlocksMax];
  __shared__ double sums[kThreads];
  __shared__ int64_t chosen;      // The vocabulary block.
  __shared__ double left, total;  // What is left of the draw, and the vocabulary's total.
  const int64_t row = blockIdx.x;
  const int32_t count = static_cast<int32_t>(VocabBlocksOf(args.vocab));
  const VocabBlock* vocab_blocks = args.vocab_blocks + row * count;
  const float* logits = args.logits + row * args.vocab;
  const float scale = args.scale > 0 ? args.scale : 1.0f;

  const int32_t thread = static_cast<int32_t>(threadIdx.x);
  float most = -INFINITY;  // of the vocabulary
  for (int32_t s = thread; s < count; s += kThreads) most = fmaxf(most, vocab_blocks[s].max);
  most = MaxOverBlock(most, scratch);
  for (int32_t s = thread; s < count; s += kThreads) {
    masses[s] = static_cast<double>(vocab_blocks[s].sum) *
                static_cast<double>(expf((vocab_blocks[s].max - most) * scale));
  }
  __syncthreads();
  if (thread == 0) {
    double all = 0;
    for (int32_t s = 0; s < count; ++s) all += masses[s];
    if (args.scale <= 0) {
      int32_t s = 0;
      while (s + 1 < count && vocab_blocks[s].max < most) ++s;
      args.ids[row] = most > -INFINITY ? vocab_blocks[s].best : 0;
      args.logprobs[row] = static_cast<float>(-log(all));
    } else {
      const DecodeToken& token = args.tokens[row];
      double rest =
          all * FirstUniform(args.seed, args.step, token.group_index, token.sample, token.draw);
      chosen = TakeMasses(masses, count, &rest);
      left = rest;
      total = all;
    }
  }
  if (args.scale <= 0) return;
  __syncthreads();

  // Each thread sums neighbouring tokens; one of them then looks at single tokens.
  const int64_t begin = chosen * kVocabBlockTokens;
  const auto mass = [&](int64_t i) {
    return i < args.vocab ? static_cast<double>(expf((logits[i] - most) * scale)) : 0.0;
  };
  double sum = 0;
  for (int i = 0; i < kPerThread; ++i) sum += mass(begin + threadIdx.x * kPerThread + i);
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;

  double rest = left;
  const int at = TakeMasses(sums, kThreads, &rest);
  // Rounding may leave a draw just past the last token: then the last one with a chance is it.
  int64_t id = -1;
  for (int64_t i = begin + at * kPerThread; i < begin + (at + 1) * kPerThread; ++i) {
    const double p = mass(i);
    if (p > 0) id = i;
    rest -= p;
    if (rest < 0 && p > 0) break;
  }
  for (int64_t i = begin + at * kPerThread - 1; id < 0 && i >= 0; --i) {
    if (mass(i) > 0) id = i;
  }
  if (id < 0) id = 0;  // All were NaN, and so is the log-probability.
  args.ids[row] = static_cast<int32_t>(id);
  args.logprobs[row] =
      static_cast<float>(static_cast<double>((logits[id] - most) * scale) - log(total));
}

}  // namespace

LaunchError Sample(const SampleArgs& args, CudaStreamHandle stream) {
  const int64_t vocab_blocks = (args.vocab + kVocabBlockTokens - 1) / kVocabBlockTokens;
  if (vocab_blocks > kVocabBlocksMax) return "the vocabulary is too large";
  if (const LaunchError error =
          Launch(VocabBlockKernel, Grid(vocab_blocks, args.rows), kThreads, stream, args)) {
    return error;
  }
  return Launch(DrawKernel, Grid(args.rows), kThreads, stream, args);
}

}  // namespace whetstone::WHETSTONE_KERNELS
