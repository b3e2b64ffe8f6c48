#include "gpu_trainer/kernels/linear.h"

#include <algorithm>

#include "gpu_trainer/kernels/cpu/decode_kernels.h"
#include "gpu_trainer/kernels/parallel.h"
#include "gpu_trainer/kernels/simd_kernels.h"

namespace whetstone {
namespace {

template <typename T>
void RunKernel(const torch::Tensor& x, const torch::Tensor& w, const torch::Tensor& bias,
               const torch::Tensor& y) {
  const LinearArgs<T> args = {
      static_cast<const T*>(x.const_data_ptr()),
      static_cast<const T*>(w.const_data_ptr()),
      bias.defined() ? static_cast<const T*>(bias.const_data_ptr()) : nullptr,
      y.data_ptr<float>(),
      x.size(0),
      w.size(0),
      x.size(1)};
  // Where a run of columns begins, nobody asked for its weights ahead, and with 32 rows runs of 64
  // KiB take a tenth longer than runs of 512. But no thread may get more than its share.
  const int64_t threads = ParallelThreads();
  const int64_t longest = std::max<int64_t>(32, (512 << 10) / (args.k * x.element_size()));
  const auto runs = [&](int64_t columns) { return (args.n + columns - 1) / columns; };
  const auto largest_share = [&](int64_t columns) {
    return (runs(columns) + threads - 1) / threads * columns;
  };
  int64_t run = 8;
  for (int64_t columns = 16; columns <= longest; columns += 8) {
    if (largest_share(columns) <= largest_share(run)) run = columns;
  }
  ParallelFor(runs(run), [&](int64_t task) {
    Decoding<T>().linear_columns(args, task * run, std::min(args.n, (task + 1) * run));
  });
}

bool KernelServes(const torch::Tensor& x, const torch::Tensor& w) {
  return ProductKernelsServe(x) && x.scalar_type() == w.scalar_type() && w.is_contiguous();
}

// Multiplies bf16 or fp16 factors into f32 sums, without the kernel.
torch::Tensor WideProduct(const torch::Tensor& x, const torch::Tensor& w) {
  if (x.is_cuda()) return at::mm(x, w.t(), torch::kFloat);
  // A wide copy of a whole head would be twice its size, so a few rows of it are widened at a time.
  constexpr int64_t kRowsAtOnce = 8192;
  const torch::Tensor wide = x.to(torch::kFloat);
  if (w.size(0) <= kRowsAtOnce) return at::linear(wide, w.to(torch::kFloat));
  torch::Tensor y = torch::empty({x.size(0), w.size(0)}, wide.options());
  for (int64_t i = 0; i < w.size(0); i += kRowsAtOnce) {
    const int64_t n = std::min(kRowsAtOnce, w.size(0) - i);
    y.narrow(1, i, n).copy_(at::linear(wide, w.narrow(0, i, n).to(torch::kFloat)));
  }
  return y;
}

}  // namespace

bool IsBatchInvariant(torch::Device device, torch::ScalarType compute) {
  return ProductKernelsServe(device, compute);
}

torch::Tensor Linear(const torch::Tensor& x, const torch::Tensor& w, const torch::Tensor& bias) {
  if (KernelServes(x, w)) {
    const torch::Tensor rows = x.contiguous();
    torch::Tensor y = torch::empty({x.size(0), w.size(0)}, x.options().dtype(torch::kFloat));
    if (x.scalar_type() == torch::kBFloat16) {
      RunKernel<Bf16>(rows, w, bias, y);
    } else {
      RunKernel<float>(rows, w, bias, y);
    }
    return y;
  }
  if (x.itemsize() >= sizeof(float)) return at::linear(x, w, bias);
  torch::Tensor y = WideProduct(x, w);
  if (bias.defined()) y.add_(bias);
  return y;
}

}  // namespace whetstone
