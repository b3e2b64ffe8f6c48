#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "common/status_macros.h"
#include "gpu_trainer/engine/cache/kv_cache.h"
#include "gpu_trainer/kernels/cpu/decode_kernels.h"
#include "gpu_trainer/kernels/cpu/elementwise_cpu.h"
#include "gpu_trainer/kernels/parallel.h"
#include "gpu_trainer/kernels/simd_kernels.h"

namespace whetstone {
namespace {

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// A task is a run of samples that goes through a prefix together, times one key/value head. A run
// is so short that every thread has kTasksPerThread tasks, and no longer than shares well what is
// read.
constexpr int64_t kSamplesPerTask = 8;
constexpr int64_t kTasksPerThread = 3;
// One task takes so many tokens of a prompt. They divide kPackedBlock, so that the tokens of a task
// share all whole blocks.
constexpr int64_t kQueriesPerTask = 16;

// A sequence's tokens are cut into blocks where its positions are multiples of kPackedBlock,
// whether they come from the prompt or were sampled: a group shares the whole blocks of its prompt,
// and each slot starts with a copy of the rest. So a token attends in the same blocks, and the same
// order of additions, when it is decoded and when it is part of a prompt: the results are bitwise
// equal.
template <typename T>
class PackedKvCache final : public KvCache {
 public:
  PackedKvCache(const ModelConfig& config, torch::ScalarType dtype, int64_t slots,
                int64_t suffix_tokens)
      : config_(config),
        dtype_(dtype),
        dp_(RoundUp(config.head_dim, 16)),
        // A slot also holds the prompt's last, incomplete block.
        slot_capacity_(RoundUp(suffix_tokens + kPackedBlock - 1, kPackedBlock)) {
    for (int64_t i = 0; i < config.layers; ++i) {
      suffixes_.push_back(MakeLayerKv(slots * config.kv_heads, slot_capacity_));
    }
  }

  torch::Tensor Prefill(int32_t prefix, int64_t layer, const torch::Tensor& qkv) override {
    CHECK(qkv.is_contiguous() && qkv.scalar_type() == torch::kFloat);
    const int64_t tokens = qkv.size(0);
    Prefix& stored = prefixes_[prefix];
    stored.tokens = tokens;
    stored.capacity = RoundUp(tokens, kPackedBlock);
    stored.layers.resize(static_cast<size_t>(config_.layers));
    LayerKv& layer_kv = stored.layers[static_cast<size_t>(layer)];
    layer_kv = MakeLayerKv(config_.kv_heads, stored.capacity);
    ParallelFor(config_.kv_heads, [&](int64_t head) {
      const PackedKv<T> kv = View(layer_kv, head, stored.capacity);
      for (int64_t t = 0; t < tokens; ++t) Pack(qkv, t, head, t, kv);
    });
    torch::Tensor out = MakeOut(tokens);
    const int64_t chunks = (tokens + kQueriesPerTask - 1) / kQueriesPerTask;
    ParallelFor(chunks * config_.kv_heads, [&](int64_t task) {
      // Long chunks come first, so that the last tasks to be taken are short.
      const int64_t begin = (chunks - 1 - task / config_.kv_heads) * kQueriesPerTask;
      const int64_t head = task % config_.kv_heads;
      AttendCausally(qkv, head, begin, std::min(tokens, begin + kQueriesPerTask),
                     View(layer_kv, head, stored.capacity), out);
    });
    return out;
  }

  void DropPrefix(int32_t prefix) override { prefixes_.erase(prefix); }

  torch::Tensor Attend(int64_t layer, const torch::Tensor& qkv,
                       const std::vector<DecodeRow>& rows) override {
    CHECK(qkv.is_contiguous() && qkv.scalar_type() == torch::kFloat);
    torch::Tensor out = MakeOut(qkv.size(0));
    const size_t run_max = static_cast<size_t>(
        std::clamp(qkv.size(0) * config_.kv_heads / (kTasksPerThread * ParallelThreads()),
                   int64_t{1}, kSamplesPerTask));
    std::vector<std::pair<int64_t, int64_t>> runs;
    for (size_t begin = 0; begin < rows.size();) {
      size_t end = begin + 1;
      // A slot's rows stay in one task: later ones read what earlier ones put there.
      while (end < rows.size() && rows[end].prefix == rows[begin].prefix &&
             (end - begin < run_max || rows[end].slot == rows[end - 1].slot)) {
        ++end;
      }
      runs.emplace_back(static_cast<int64_t>(begin), static_cast<int64_t>(end));
      begin = end;
    }
    ParallelFor(static_cast<int64_t>(runs.size()) * config_.kv_heads, [&](int64_t task) {
      const auto& [begin, end] = runs[static_cast<size_t>(task / config_.kv_heads)];
      AttendRun(layer, task % config_.kv_heads, qkv, rows, begin, end, out);
    });
    return out;
  }

 private:
  struct LayerKv {
    // Each is [heads, Dp * capacity] in the layout of kernels/cpu/decode_attention.h.
    torch::Tensor k, v;
  };
  struct Prefix {
    int64_t tokens = 0, capacity = 0;
    std::vector<LayerKv> layers;
  };

  // Queries holds rows [begin, end) of the query heads that read key/value head `head`, and their
  // running softmax. Row (i - begin) * per + h is query head h of token i.
  class Queries {
   public:
    Queries(const PackedKvCache& cache, const torch::Tensor& qkv, int64_t head, int64_t begin,
            int64_t end)
        : cache_(cache),
          per_(cache.config_.heads / cache.config_.kv_heads),
          head_(head),
          begin_(begin),
          q_(static_cast<size_t>((end - begin) * per_ * cache.dp_), T{}),
          max_(static_cast<size_t>((end - begin) * per_), -std::numeric_limits<float>::infinity()),
          sum_(max_.size()),
          out_(q_.size()) {
      const int64_t d = cache.config_.head_dim;
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t h = 0; h < per_; ++h) {
          const float* from = cache.Head(qkv, i, head * per_ + h);
          T* to = q_.data() + ((i - begin) * per_ + h) * cache.dp_;
          RoundRow(from, 1, d, to);
        }
      }
    }

    // Lets tokens [begin, end) attend to the first `length` tokens of `kv`.
    void Attend(int64_t begin, int64_t end, const PackedKv<T>& kv, int64_t length) {
      const int64_t row = (begin - begin_) * per_, dp = cache_.dp_;
      const float scale = 1 / std::sqrt(static_cast<float>(cache_.config_.head_dim));
      Decoding<T>().attend({q_.data() + row * dp, max_.data() + row, sum_.data() + row,
                            out_.data() + row * dp, (end - begin) * per_, dp, scale},
                           kv, length);
    }

    // Writes token `i`'s result.
    void Finish(int64_t i, const torch::Tensor& out) const {
      const int64_t d = cache_.config_.head_dim;
      T* to = static_cast<T*>(out.data_ptr()) + (i * cache_.config_.heads + head_ * per_) * d;
      for (int64_t h = 0; h < per_; ++h) {
        const int64_t row = (i - begin_) * per_ + h;
        const float inverse = 1 / sum_[static_cast<size_t>(row)];
        const float* from = out_.data() + row * cache_.dp_;
        RoundRow(from, inverse, d, to + h * d);
      }
    }

   private:
    const PackedKvCache& cache_;
    const int64_t per_, head_, begin_;
    std::vector<T> q_;
    std::vector<float> max_, sum_, out_;
  };

  torch::Tensor MakeOut(int64_t rows) const {
    return torch::empty({rows, config_.heads * config_.head_dim}, torch::dtype(dtype_));
  }

  // Fills it with zeros: what lies past a sequence's end is multiplied by weight 0 and must be
  // finite.
  LayerKv MakeLayerKv(int64_t heads, int64_t capacity) const {
    const auto options = torch::dtype(dtype_);
    return {torch::zeros({heads, dp_ * capacity}, options),
            torch::zeros({heads, dp_ * capacity}, options)};
  }

  PackedKv<T> View(const LayerKv& layer_kv, int64_t head, int64_t capacity) const {
    const int64_t at = head * dp_ * capacity;
    return {static_cast<T*>(layer_kv.k.data_ptr()) + at,
            static_cast<T*>(layer_kv.v.data_ptr()) + at, capacity};
  }

  // Returns head `h` (of H + 2K) of row `row`.
  const float* Head(const torch::Tensor& qkv, int64_t row, int64_t h) const {
    return qkv.const_data_ptr<float>() + (row * qkv.size(1) + h) * config_.head_dim;
  }

  void Pack(const torch::Tensor& qkv, int64_t row, int64_t head, int64_t token,
            const PackedKv<T>& kv) const {
    PackToken(Head(qkv, row, config_.heads + head),
              Head(qkv, row, config_.heads + config_.kv_heads + head), config_.head_dim, dp_, token,
              kv);
  }

  void AttendRun(int64_t layer, int64_t head, const torch::Tensor& qkv,
                 const std::vector<DecodeRow>& rows, int64_t begin, int64_t end,
                 const torch::Tensor& out) const {
    Queries queries(*this, qkv, head, begin, end);
    const Prefix& prefix = prefixes_.at(rows[static_cast<size_t>(begin)].prefix);
    const PackedKv<T> shared =
        View(prefix.layers[static_cast<size_t>(layer)], head, prefix.capacity);
    const int64_t tail = prefix.tokens % kPackedBlock, whole = prefix.tokens - tail;
    if (whole > 0) queries.Attend(begin, end, shared, whole);
    for (int64_t i = begin; i < end; ++i) {
      const DecodeRow& row = rows[static_cast<size_t>(i)];
      const PackedKv<T> kv = View(suffixes_[static_cast<size_t>(layer)],
                                  row.slot * config_.kv_heads + head, slot_capacity_);
      if (row.suffix == 0) CopyTail(shared, whole, tail, kv);
      Pack(qkv, i, head, tail + row.suffix, kv);
      queries.Attend(i, i + 1, kv, tail + row.suffix + 1);
      queries.Finish(i, out);
    }
  }

  // Makes tokens [whole, whole + tail) of a prefix the first of a slot.
  void CopyTail(const PackedKv<T>& prefix, int64_t whole, int64_t tail,
                const PackedKv<T>& slot) const {
    constexpr int64_t p = kPair<T>;
    for (int64_t i = 0; i < dp_ / p; ++i) {
      const T* from = prefix.k + (i * prefix.capacity + whole) * p;
      std::copy(from, from + tail * p, slot.k + i * slot.capacity * p);
    }
    const T* from = prefix.v + whole * dp_;
    std::copy(from, from + RoundUp(tail, p) * dp_, slot.v);
  }

  // Lets tokens [begin, end) of a prompt attend, each to itself and all before it: whole blocks
  // before the first of them together, the rest one by one.
  void AttendCausally(const torch::Tensor& qkv, int64_t head, int64_t begin, int64_t end,
                      const PackedKv<T>& kv, const torch::Tensor& out) const {
    Queries queries(*this, qkv, head, begin, end);
    const int64_t shared = begin / kPackedBlock * kPackedBlock;
    if (shared > 0) queries.Attend(begin, end, kv, shared);
    const PackedKv<T> rest = {kv.k + shared * kPair<T>, kv.v + shared * dp_, kv.capacity};
    for (int64_t i = begin; i < end; ++i) {
      queries.Attend(i, i + 1, rest, i + 1 - shared);
      queries.Finish(i, out);
    }
  }

  const ModelConfig config_;
  const torch::ScalarType dtype_;
  const int64_t dp_, slot_capacity_;
  std::map<int32_t, Prefix> prefixes_;
  std::vector<LayerKv> suffixes_;  // A layer has slots * K heads.
};

}  // namespace

std::unique_ptr<KvCache> MakePackedKvCache(const ModelConfig& config, torch::ScalarType dtype,
                                           int64_t slots, int64_t suffix_tokens) {
  CHECK(ProductKernelsServe(torch::kCPU, dtype));
  if (dtype == torch::kBFloat16) {
    return std::make_unique<PackedKvCache<Bf16>>(config, dtype, slots, suffix_tokens);
  }
  CHECK(dtype == torch::kFloat);
  return std::make_unique<PackedKvCache<float>>(config, dtype, slots, suffix_tokens);
}

}  // namespace whetstone
