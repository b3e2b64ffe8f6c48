#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "common/status_macros.h"
#include "gpu_trainer/engine/kv_cache.h"
#include "gpu_trainer/ops/attention_avx512.h"
#include "gpu_trainer/ops/cpu.h"
#include "gpu_trainer/ops/parallel.h"

namespace whetstone {
namespace {

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Samples that one task takes through a prefix. A task is such a run of samples times one key/value
// head: few enough that there are tasks for every thread, enough to share what is read.
constexpr size_t kSamplesPerTask = 8;

template <typename T>
class PackedKvCache final : public KvCache {
 public:
  PackedKvCache(const ModelConfig& config, torch::ScalarType dtype, int64_t slots,
                int64_t suffix_tokens)
      : config_(config),
        dtype_(dtype),
        dp_(RoundUp(config.head_dim, 16)),
        suffix_capacity_(RoundUp(suffix_tokens, kPackedBlock)) {
    for (int64_t i = 0; i < config.layers; ++i) {
      suffixes_.push_back(MakePart(slots * config.kv_heads, suffix_capacity_));
    }
  }

  void StorePrefix(int32_t prefix, int64_t layer, const torch::Tensor& qkv) override {
    CHECK(qkv.is_contiguous() && qkv.scalar_type() == dtype_);
    const int64_t tokens = qkv.size(0);
    Prefix& stored = prefixes_[prefix];
    stored.tokens = tokens;
    stored.capacity = RoundUp(tokens, kPackedBlock);
    stored.layers.resize(static_cast<size_t>(config_.layers));
    Part& part = stored.layers[static_cast<size_t>(layer)];
    part = MakePart(config_.kv_heads, stored.capacity);
    ParallelFor(config_.kv_heads, [&](int64_t head) {
      const PackedKv<T> kv = View(part, head, stored.capacity);
      for (int64_t t = 0; t < tokens; ++t) Pack(qkv, t, head, t, kv);
    });
  }

  void DropPrefix(int32_t prefix) override { prefixes_.erase(prefix); }

  torch::Tensor Attend(int64_t layer, const torch::Tensor& qkv,
                       const std::vector<DecodeRow>& rows) override {
    CHECK(qkv.is_contiguous() && qkv.scalar_type() == dtype_);
    torch::Tensor out =
        torch::empty({qkv.size(0), config_.heads * config_.head_dim}, qkv.options());
    std::vector<std::pair<size_t, size_t>> runs;
    for (size_t begin = 0; begin < rows.size();) {
      size_t end = begin + 1;
      while (end < rows.size() && end - begin < kSamplesPerTask &&
             rows[end].prefix == rows[begin].prefix) {
        ++end;
      }
      runs.emplace_back(begin, end);
      begin = end;
    }
    ParallelFor(static_cast<int64_t>(runs.size()) * config_.kv_heads, [&](int64_t task) {
      const auto& [begin, end] = runs[static_cast<size_t>(task / config_.kv_heads)];
      AttendRun(layer, task % config_.kv_heads, qkv, rows, begin, end, out);
    });
    return out;
  }

 private:
  struct Part {
    torch::Tensor k, v;  // [heads, Dp * capacity] each, layout of ops/attention_avx512.h
  };
  struct Prefix {
    int64_t tokens = 0, capacity = 0;
    std::vector<Part> layers;
  };

  // Zeros: what lies past a sequence's end is multiplied by weight 0 and must be finite.
  Part MakePart(int64_t heads, int64_t capacity) const {
    const auto options = torch::dtype(dtype_);
    return {torch::zeros({heads, dp_ * capacity}, options),
            torch::zeros({heads, dp_ * capacity}, options)};
  }

  PackedKv<T> View(const Part& part, int64_t head, int64_t capacity) const {
    const int64_t at = head * dp_ * capacity;
    return {static_cast<T*>(part.k.data_ptr()) + at, static_cast<T*>(part.v.data_ptr()) + at,
            capacity};
  }

  // Head `h` (of H + 2K) of row `row`.
  const T* Head(const torch::Tensor& qkv, int64_t row, int64_t h) const {
    return static_cast<const T*>(qkv.const_data_ptr()) + (row * qkv.size(1) + h) * config_.head_dim;
  }

  void Pack(const torch::Tensor& qkv, int64_t row, int64_t head, int64_t token,
            const PackedKv<T>& kv) const {
    PackToken(Head(qkv, row, config_.heads + head),
              Head(qkv, row, config_.heads + config_.kv_heads + head), config_.head_dim, dp_, token,
              kv);
  }

  void AttendRun(int64_t layer, int64_t head, const torch::Tensor& qkv,
                 const std::vector<DecodeRow>& rows, size_t begin, size_t end,
                 const torch::Tensor& out) const {
    const int64_t per = config_.heads / config_.kv_heads, d = config_.head_dim;
    const int64_t n = static_cast<int64_t>(end - begin) * per;
    std::vector<T> q(static_cast<size_t>(n * dp_), T{});
    std::vector<float> most(static_cast<size_t>(n), -std::numeric_limits<float>::infinity());
    std::vector<float> sum(static_cast<size_t>(n)), sums(static_cast<size_t>(n * dp_));
    for (size_t i = begin; i < end; ++i) {
      for (int64_t h = 0; h < per; ++h) {
        const T* from = Head(qkv, static_cast<int64_t>(i), head * per + h);
        std::copy(from, from + d, q.data() + (static_cast<int64_t>(i - begin) * per + h) * dp_);
      }
    }
    const float scale = 1 / std::sqrt(static_cast<float>(d));
    const AttentionState<T> all = {q.data(), most.data(), sum.data(), sums.data(), n, dp_, scale};
    const Prefix& prefix = prefixes_.at(rows[begin].prefix);
    AttendPacked(all, View(prefix.layers[static_cast<size_t>(layer)], head, prefix.capacity),
                 prefix.tokens);
    for (size_t i = begin; i < end; ++i) {
      const int64_t at = static_cast<int64_t>(i - begin) * per;
      const PackedKv<T> kv = View(suffixes_[static_cast<size_t>(layer)],
                                  rows[i].slot * config_.kv_heads + head, suffix_capacity_);
      Pack(qkv, static_cast<int64_t>(i), head, rows[i].suffix, kv);
      AttendPacked({q.data() + at * dp_, most.data() + at, sum.data() + at, sums.data() + at * dp_,
                    per, dp_, scale},
                   kv, rows[i].suffix + 1);
      T* to = static_cast<T*>(out.data_ptr()) +
              (static_cast<int64_t>(i) * config_.heads + head * per) * d;
      for (int64_t h = 0; h < per; ++h) {
        const float inverse = 1 / sum[static_cast<size_t>(at + h)];
        const float* from = sums.data() + (at + h) * dp_;
        for (int64_t j = 0; j < d; ++j) StoreFloat(from[j] * inverse, to + h * d + j);
      }
    }
  }

  const ModelConfig config_;
  const torch::ScalarType dtype_;
  const int64_t dp_, suffix_capacity_;
  std::map<int32_t, Prefix> prefixes_;
  std::vector<Part> suffixes_;  // per layer, heads: slots * K
};

}  // namespace

std::unique_ptr<KvCache> MakePackedKvCache(const ModelConfig& config, torch::ScalarType dtype,
                                           int64_t slots, int64_t suffix_tokens) {
  CHECK(HasAvx512Kernels());
  if (dtype == torch::kBFloat16) {
    return std::make_unique<PackedKvCache<Bf16>>(config, dtype, slots, suffix_tokens);
  }
  CHECK(dtype == torch::kFloat);
  return std::make_unique<PackedKvCache<float>>(config, dtype, slots, suffix_tokens);
}

}  // namespace whetstone
