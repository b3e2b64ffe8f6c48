#include "gpu_trainer/train/pass/attention_flash.h"

#include <ATen/Context.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

#ifdef WHETSTONE_HAVE_CUDA
#include <ATen/cuda/CUDAContextLight.h>
#endif

namespace whetstone {
namespace {

// LibTorch's operators add in a fixed order while it lives. (With warn_only flash attention would
// not.)
class FixedOrder {
 public:
  FixedOrder()
      : was_(at::globalContext().deterministicAlgorithms()),
        warned_(at::globalContext().deterministicAlgorithmsWarnOnly()) {
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  }
  ~FixedOrder() { at::globalContext().setDeterministicAlgorithms(was_, warned_); }
  FixedOrder(const FixedOrder&) = delete;
  FixedOrder& operator=(const FixedOrder&) = delete;

 private:
  const bool was_, warned_;
};

struct Inputs {
  torch::Tensor q, k, v;  // [T, H, D], [all keys, K, D] twice
};

Inputs Gather(const AttentionShape& shape, const FlashLayout& layout, const torch::Tensor& qkv) {
  const torch::Tensor heads =
      qkv.view({qkv.size(0), shape.heads + 2 * shape.kv_heads, shape.head_dim});
  const torch::Tensor kv =
      heads.narrow(1, shape.heads, 2 * shape.kv_heads).index_select(0, layout.keys);
  return {.q = heads.narrow(1, 0, shape.heads),
          .k = kv.narrow(1, 0, shape.kv_heads),
          .v = kv.narrow(1, shape.kv_heads, shape.kv_heads)};
}

// Flash attention needs tensor cores of the third generation.
bool HasTensorCores(torch::Device gpu) {
#ifdef WHETSTONE_HAVE_CUDA
  return at::cuda::getDeviceProperties(gpu.index())->major >= 8;
#else
  static_cast<void>(gpu);
  return false;
#endif
}

}  // namespace

FlashRuns LayOutRuns(const std::vector<AttentionRun>& runs) {
  FlashRuns out;
  out.query_ends.push_back(0);
  out.key_ends.push_back(0);
  for (const AttentionRun& run : runs) {
    TORCH_CHECK(run.begin == out.query_ends.back(), "runs are not in the order of their rows");
    out.keys.insert(out.keys.end(), run.context.begin(), run.context.end());
    for (int64_t i = 0; i < run.rows; ++i) out.keys.push_back(run.begin + i);
    const int64_t keys = static_cast<int64_t>(run.context.size()) + run.rows;
    out.query_ends.push_back(static_cast<int32_t>(run.begin + run.rows));
    out.key_ends.push_back(static_cast<int32_t>(out.keys.size()));
    // With 1 the library would fold heads into queries and shape its log sums otherwise.
    out.queries_max = std::max({out.queries_max, run.rows, int64_t{2}});
    out.keys_max = std::max(out.keys_max, keys);
  }
  return out;
}

bool FlashServes(const AttentionShape& shape, const torch::Tensor& qkv) {
  static const bool wanted = std::getenv("WHETSTONE_PLAIN_KERNELS") == nullptr;
  return wanted && qkv.is_cuda() &&
         (qkv.scalar_type() == torch::kBFloat16 || qkv.scalar_type() == torch::kHalf) &&
         shape.head_dim % 8 == 0 && shape.head_dim <= 256 && HasTensorCores(qkv.device());
}

FlashLayout::FlashLayout(const std::vector<AttentionRun>& runs, torch::Device device)
    : FlashLayout(LayOutRuns(runs), device) {}

FlashLayout::FlashLayout(const FlashRuns& runs, torch::Device device)
    : keys(torch::tensor(runs.keys, torch::kLong).to(device)),
      query_ends(torch::tensor(runs.query_ends, torch::kInt).to(device)),
      key_ends(torch::tensor(runs.key_ends, torch::kInt).to(device)),
      queries_max(runs.queries_max),
      keys_max(runs.keys_max),
      key_sum(runs.keys, device) {}

AttentionResult FlashForward(const AttentionShape& shape, const FlashLayout& layout,
                             const torch::Tensor& qkv) {
  const Inputs in = Gather(shape, layout, qkv);
  auto [out, log_sum, random_state, unused, debug] = at::_flash_attention_forward(
      in.q, in.k, in.v, layout.query_ends, layout.key_ends, layout.queries_max, layout.keys_max,
      /*dropout_p=*/0.0, /*is_causal=*/true, /*return_debug_mask=*/false);
  TORCH_CHECK(
      log_sum.dim() == 2 && log_sum.size(0) == shape.heads && log_sum.size(1) == qkv.size(0),
      "flash attention returned log sums of shape ", log_sum.sizes());
  return {.out = out.reshape({qkv.size(0), shape.heads * shape.head_dim}), .log_sum = log_sum};
}

torch::Tensor FlashBackward(const AttentionShape& shape, const FlashLayout& layout,
                            const torch::Tensor& qkv, const AttentionResult& forward,
                            const torch::Tensor& dout) {
  const Inputs in = Gather(shape, layout, qkv);
  const int64_t rows = qkv.size(0), kv = shape.kv_heads, d = shape.head_dim;
  const std::vector<int64_t> by_head = {rows, shape.heads, d};
  // Without dropout nobody reads the state of a random number generator.
  const torch::Tensor no_state = torch::zeros({2}, torch::dtype(torch::kLong).device(qkv.device()));
  const auto [dq, dk, dv] = [&] {
    const FixedOrder fixed;
    return at::_flash_attention_backward(
        dout.view(by_head), in.q, in.k, in.v, forward.out.view(by_head), forward.log_sum,
        layout.query_ends, layout.key_ends, layout.queries_max, layout.keys_max,
        /*dropout_p=*/0.0, /*is_causal=*/true, no_state, no_state);
  }();

  torch::Tensor dqkv = torch::empty_like(qkv);
  dqkv.narrow(1, 0, shape.heads * d).copy_(dq.reshape({rows, shape.heads * d}));
  // The sums are in f32: keys and values collect gradients from all that come after them.
  const torch::Tensor sums = torch::zeros({rows, 2 * kv, d}, qkv.options().dtype(torch::kFloat));
  layout.key_sum.AddTo(sums, torch::cat({dk, dv}, 1).to(torch::kFloat));
  dqkv.narrow(1, shape.heads * d, 2 * kv * d).copy_(sums.view({rows, 2 * kv * d}));
  return dqkv;
}

}  // namespace whetstone
