#include <limits>
#include <map>
#include <utility>

#include "gpu_trainer/engine/cache/kv_cache.h"

namespace whetstone {
namespace {

using torch::indexing::Slice;

class ReferenceKvCache final : public KvCache {
 public:
  ReferenceKvCache(const ModelConfig& config, torch::ScalarType dtype, torch::Device device,
                   int64_t slots, int64_t suffix_tokens, bool batch_invariant)
      : config_(config), dtype_(dtype), batch_invariant_(batch_invariant) {
    const auto options = torch::dtype(dtype).device(device);
    const std::vector<int64_t> shape = {slots, config.kv_heads, suffix_tokens, config.head_dim};
    for (int64_t i = 0; i < config.layers; ++i) {
      suffixes_.push_back({torch::zeros(shape, options), torch::zeros(shape, options)});
    }
  }

  torch::Tensor Prefill(int32_t prefix, int64_t layer, const torch::Tensor& wide) override {
    torch::NoGradGuard no_grad;
    const torch::Tensor qkv = wide.to(dtype_);
    const torch::Tensor q = qkv.narrow(1, 0, config_.heads);
    const torch::Tensor k = qkv.narrow(1, config_.heads, config_.kv_heads);
    const torch::Tensor v = qkv.narrow(1, config_.heads + config_.kv_heads, config_.kv_heads);
    std::vector<LayerKv>& layers = prefixes_[prefix];
    layers.resize(static_cast<size_t>(config_.layers));
    LayerKv& layer_kv = layers[static_cast<size_t>(layer)];
    layer_kv = {k.transpose(0, 1).contiguous(), v.transpose(0, 1).contiguous()};
    const torch::Tensor out = at::scaled_dot_product_attention(
        q.transpose(0, 1).unsqueeze(0), layer_kv.k.unsqueeze(0), layer_kv.v.unsqueeze(0),
        /*attn_mask=*/{}, /*dropout_p=*/0.0, /*is_causal=*/true, /*scale=*/std::nullopt,
        /*enable_gqa=*/config_.heads != config_.kv_heads);
    return out.squeeze(0).transpose(0, 1).reshape({qkv.size(0), config_.heads * config_.head_dim});
  }

  void DropPrefix(int32_t prefix) override { prefixes_.erase(prefix); }

  torch::Tensor Attend(int64_t layer, const torch::Tensor& wide,
                       const std::vector<DecodeRow>& rows) override {
    torch::NoGradGuard no_grad;
    const torch::Tensor qkv = wide.to(dtype_);
    // The queries are scaled before they are rounded: in fp16 a product of whole queries and keys
    // may overflow.
    const torch::Tensor q =
        (wide.narrow(1, 0, config_.heads) * (1 / std::sqrt(static_cast<double>(config_.head_dim))))
            .to(dtype_);
    std::vector<int64_t> slots, lengths;
    for (const DecodeRow& row : rows) {
      slots.push_back(row.slot);
      lengths.push_back(row.suffix);
    }
    const torch::Tensor slot = torch::tensor(slots).to(qkv.device());
    const torch::Tensor length = torch::tensor(lengths).to(qkv.device());
    LayerKv& suffix = suffixes_[static_cast<size_t>(layer)];
    suffix.k.index_put_({slot, Slice(), length}, qkv.narrow(1, config_.heads, config_.kv_heads));
    suffix.v.index_put_({slot, Slice(), length},
                        qkv.narrow(1, config_.heads + config_.kv_heads, config_.kv_heads));

    std::vector<torch::Tensor> outs;
    for (size_t begin = 0; begin < rows.size();) {
      size_t end = begin + 1;
      while (!batch_invariant_ && end < rows.size() && rows[end].prefix == rows[begin].prefix)
        ++end;
      int64_t longest = 0;
      for (size_t i = begin; i < end; ++i) longest = std::max(longest, rows[i].suffix + 1);
      const int64_t at = static_cast<int64_t>(begin), n = static_cast<int64_t>(end - begin);
      outs.push_back(AttendRun(prefixes_.at(rows[begin].prefix)[static_cast<size_t>(layer)], suffix,
                               q.narrow(0, at, n), slot.narrow(0, at, n), length.narrow(0, at, n),
                               longest));
      begin = end;
    }
    return torch::cat(outs, 0);
  }

 private:
  struct LayerKv {
    torch::Tensor k, v;
  };

  // Attends rows of one prefix, q [n, H, D], scaled. Query heads and rows that read the same keys
  // are folded into rows of one matrix, so the prefix is read once.
  torch::Tensor AttendRun(const LayerKv& prefix, const LayerKv& suffix, const torch::Tensor& q,
                          const torch::Tensor& slot, const torch::Tensor& length, int64_t longest) {
    const int64_t n = q.size(0), kv = config_.kv_heads, per = config_.heads / kv,
                  d = config_.head_dim, p = prefix.k.size(1);
    const torch::Tensor grouped = q.reshape({n, kv, per, d});
    const torch::Tensor folded = grouped.transpose(0, 1).reshape({kv, n * per, d});
    const torch::Tensor k = suffix.k.index_select(0, slot).narrow(2, 0, longest);
    const torch::Tensor v = suffix.v.index_select(0, slot).narrow(2, 0, longest);

    const torch::Tensor to_prefix = at::matmul(folded, prefix.k.transpose(1, 2))
                                        .to(torch::kFloat)
                                        .view({kv, n, per, p})
                                        .transpose(0, 1);  // [n, K, per, p]
    const torch::Tensor beyond =
        torch::arange(longest, length.options()).unsqueeze(0) > length.unsqueeze(1);
    const torch::Tensor to_suffix =
        at::matmul(grouped, k.transpose(2, 3))
            .to(torch::kFloat)
            .masked_fill(beyond.view({n, 1, 1, longest}), -std::numeric_limits<float>::infinity());
    const torch::Tensor weights =
        torch::softmax(torch::cat({to_prefix, to_suffix}, 3), 3).to(q.scalar_type());
    const torch::Tensor prefix_weights =
        weights.narrow(3, 0, p).transpose(0, 1).reshape({kv, n * per, p});
    const torch::Tensor out =
        at::matmul(prefix_weights, prefix.v).view({kv, n, per, d}).transpose(0, 1) +
        at::matmul(weights.narrow(3, p, longest), v);
    return out.reshape({n, config_.heads * d});
  }

  const ModelConfig config_;
  const torch::ScalarType dtype_;
  const bool batch_invariant_;
  // Both hold a tensor for each layer: prefixes_ [K, n, D], suffixes_ [slots, K, suffix_tokens, D].
  std::map<int32_t, std::vector<LayerKv>> prefixes_;
  std::vector<LayerKv> suffixes_;
};

}  // namespace

std::unique_ptr<KvCache> MakeReferenceKvCache(const ModelConfig& config, torch::ScalarType dtype,
                                              torch::Device device, int64_t slots,
                                              int64_t suffix_tokens, bool batch_invariant) {
  return std::make_unique<ReferenceKvCache>(config, dtype, device, slots, suffix_tokens,
                                            batch_invariant);
}

}  // namespace whetstone
