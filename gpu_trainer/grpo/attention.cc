#include "gpu_trainer/grpo/attention.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>

#include <tuple>
#include <utility>

namespace whetstone {
namespace {

// Rows [begin, begin + length) of a packed tensor.
struct Rows {
  int64_t begin = 0;
  int64_t length = 0;
};

// Heads [first, first + R * K) of `rows`, as the kernel wants them: [R, K, rows, D]. R query heads
// share a kv head; taking R as the batch lets keys and values be expanded without copying.
torch::Tensor QueryHeads(const AttentionShape& s, const torch::Tensor& x, Rows rows) {
  const int64_t r = s.heads / s.kv_heads;
  return x.narrow(0, rows.begin, rows.length)
      .narrow(1, 0, s.heads * s.head_dim)
      .view({rows.length, s.kv_heads, r, s.head_dim})
      .permute({2, 1, 0, 3});
}
torch::Tensor SharedHeads(const AttentionShape& s, const torch::Tensor& x, Rows rows,
                          int64_t first) {
  const int64_t r = s.heads / s.kv_heads;
  return x.narrow(0, rows.begin, rows.length)
      .narrow(1, first * s.head_dim, s.kv_heads * s.head_dim)
      .view({1, rows.length, s.kv_heads, s.head_dim})
      .transpose(1, 2)
      .expand({r, s.kv_heads, rows.length, s.head_dim});
}
torch::Tensor Keys(const AttentionShape& s, const torch::Tensor& x, Rows rows) {
  return SharedHeads(s, x, rows, s.heads);
}
torch::Tensor Values(const AttentionShape& s, const torch::Tensor& x, Rows rows) {
  return SharedHeads(s, x, rows, s.heads + s.kv_heads);
}
// log_sum [H, T] seen as [R, K, rows].
torch::Tensor LogSums(const AttentionShape& s, const torch::Tensor& log_sum, Rows rows) {
  return log_sum.view({s.kv_heads, s.heads / s.kv_heads, log_sum.size(1)})
      .transpose(0, 1)
      .narrow(2, rows.begin, rows.length);
}

// Calls visit(queries, keys, causal) for every part of a block: the prefix over itself, every
// branch over the prefix, each branch over itself. A single branch simply continues its prefix.
template <typename Visit>
void ForEachPart(const Block& block, const Visit& visit) {
  const Rows prefix{block.start, block.prefix};
  if (block.branches.size() == 1) {
    const Rows all{block.start, block.prefix + block.branches[0]};
    visit(all, all, /*causal=*/true);
    return;
  }
  visit(prefix, prefix, true);
  Rows branches{block.start + block.prefix, 0};
  for (const int64_t rows : block.branches) branches.length += rows;
  if (branches.length == 0) return;
  visit(branches, prefix, false);
  int64_t begin = branches.begin;
  for (const int64_t rows : block.branches) {
    if (rows > 0) visit(Rows{begin, rows}, Rows{begin, rows}, true);
    begin += rows;
  }
}

}  // namespace

AttentionResult AttentionForward(const AttentionShape& shape, const std::vector<Block>& blocks,
                                 const torch::Tensor& qkv) {
  AttentionResult result;
  result.out = torch::empty({qkv.size(0), shape.heads * shape.head_dim}, qkv.options());
  result.log_sum =
      torch::full({shape.heads, qkv.size(0)}, -INFINITY, qkv.options().dtype(torch::kFloat));
  for (const Block& block : blocks) {
    const int64_t branches_begin = block.start + block.prefix;
    ForEachPart(block, [&](Rows queries, Rows keys, bool causal) {
      const auto [out, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(
          QueryHeads(shape, qkv, queries), Keys(shape, qkv, keys), Values(shape, qkv, keys),
          /*dropout_p=*/0.0, causal);
      torch::Tensor out_rows = QueryHeads(shape, result.out, queries);
      torch::Tensor log_sum_rows = LogSums(shape, result.log_sum, queries);
      const bool second_part = causal && queries.begin >= branches_begin;
      if (!second_part) {
        out_rows.copy_(out);
        log_sum_rows.copy_(log_sum);
        return;
      }
      const torch::Tensor merged = torch::logaddexp(log_sum_rows, log_sum);
      out_rows.copy_(out_rows * (log_sum_rows - merged).exp().unsqueeze(-1) +
                     out * (log_sum - merged).exp().unsqueeze(-1));
      log_sum_rows.copy_(merged);
    });
  }
  return result;
}

torch::Tensor AttentionBackward(const AttentionShape& shape, const std::vector<Block>& blocks,
                                const torch::Tensor& qkv, const AttentionResult& forward,
                                const torch::Tensor& dout) {
  // In f32: a prefix's keys collect gradients from every part.
  torch::Tensor dqkv = torch::zeros(qkv.sizes(), qkv.options().dtype(torch::kFloat));
  for (const Block& block : blocks) {
    ForEachPart(block, [&](Rows queries, Rows keys, bool causal) {
      const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
          QueryHeads(shape, dout, queries), QueryHeads(shape, qkv, queries), Keys(shape, qkv, keys),
          Values(shape, qkv, keys), QueryHeads(shape, forward.out, queries),
          LogSums(shape, forward.log_sum, queries).contiguous(), /*dropout_p=*/0.0, causal);
      QueryHeads(shape, dqkv, queries).add_(dq);
      // The gradients of an expanded tensor: summed over the R query heads that shared it.
      Keys(shape, dqkv, keys)[0].add_(dk.sum(0, /*keepdim=*/false, torch::kFloat));
      Values(shape, dqkv, keys)[0].add_(dv.sum(0, /*keepdim=*/false, torch::kFloat));
    });
  }
  return dqkv.to(qkv.scalar_type());
}

}  // namespace whetstone
