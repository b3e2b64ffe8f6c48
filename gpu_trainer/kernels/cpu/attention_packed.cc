#include "gpu_trainer/kernels/cpu/attention_packed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "gpu_trainer/kernels/cpu/panel_kernels.h"

namespace whetstone {
namespace {

// A tile has so many rows of scores: 192 of 400 f32 are 300 KB.
constexpr int64_t kTileRows = 192;

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// A thread keeps this memory from one task to the next.
template <typename T>
struct Scratch {
  // Keys and values lie across, [D / pair, columns, pair], for products with K^T, and down,
  // [columns / pair, D, pair], for products with K.
  std::vector<T> keys_across, values_across;
  std::vector<T> keys_down, values_down;
  std::vector<T> q, dy, y, q_pairs, dy_pairs;
  std::vector<T> p, ds, p_pairs, ds_pairs;
  std::vector<float> scores, dp, sums, factors;

  static Scratch& Get() {
    thread_local Scratch scratch;
    return scratch;
  }
};

template <typename V>
V* Room(std::vector<V>& v, int64_t n) {
  if (v.size() < static_cast<size_t>(n)) v.resize(static_cast<size_t>(n));
  return v.data();
}

template <typename T>
class Task {
 public:
  static constexpr int64_t kPair = kPanelPair<T>;

  explicit Task(const PackedAttention<T>& args)
      : a_(args),
        d_(args.head_dim),
        r_(args.heads / args.kv_heads),
        stride_((args.heads + 2 * args.kv_heads) * args.head_dim),
        context_(static_cast<int64_t>(args.run->context.size())),
        n_(context_ + args.run->rows),
        columns_(RoundUp(n_, 16)),
        tile_positions_(std::max<int64_t>(1, kTileRows / r_)),
        scale_(static_cast<float>(1 / std::sqrt(static_cast<double>(args.head_dim)))),
        s_(Scratch<T>::Get()) {}

  void Forward() {
    PackAcross(a_.heads + a_.kv_head, s_.keys_across);
    PackDown(a_.heads + a_.kv_heads + a_.kv_head, s_.values_down);
    ForEachTile([&](int64_t first, int64_t end) {
      const int64_t m = (end - first) * r_, n = context_ + end, even = RoundUp(n, kPair);
      const T* q = Queries(a_.qkv, stride_, first, end, s_.q);
      const float* scores = TimesAcross(q, m, s_.keys_across, n, s_.scores);
      T* p = Room(s_.p, m * columns_);
      float* factors = Room(s_.factors, m);
      for (int64_t i = 0; i < m; ++i) {
        const ScoreSums row =
            k_.exponentials(scores + i * columns_, even, Valid(first, i), scale_, p + i * columns_);
        LogSum(first, i) = row.log_sum;
        factors[i] = row.inverse_sum;
      }
      PutQueries(TimesDown(p, m, s_.values_down, even), factors, a_.out, a_.heads * d_, first, end);
    });
  }

  void Backward() {
    PackAcross(a_.heads + a_.kv_head, s_.keys_across);
    PackAcross(a_.heads + a_.kv_heads + a_.kv_head, s_.values_across);
    PackDown(a_.heads + a_.kv_head, s_.keys_down);
    std::fill(a_.dkv, a_.dkv + n_ * 2 * d_, 0.0f);
    ForEachTile([&](int64_t first, int64_t end) {
      const int64_t m = (end - first) * r_, n = context_ + end, even = RoundUp(n, kPair);
      const T* q = Queries(a_.qkv, stride_, first, end, s_.q);
      const T* dy = Queries(a_.dout, a_.heads * d_, first, end, s_.dy);
      const T* y = Queries(a_.out, a_.heads * d_, first, end, s_.y);
      const float* scores = TimesAcross(q, m, s_.keys_across, n, s_.scores);
      const float* dp = TimesAcross(dy, m, s_.values_across, n, s_.dp);
      T* ds = Room(s_.ds, m * columns_);
      T* p_pairs = Room(s_.p_pairs, RoundUp(m, kPair) * columns_);
      T* ds_pairs = Room(s_.ds_pairs, RoundUp(m, kPair) * columns_);
      for (int64_t i = 0; i < m; i += kPair) {
        ScoreRow rows[kPair];
        const int64_t count = std::min(m - i, kPair), at = i * columns_;
        for (int64_t j = 0; j < count; ++j) {
          rows[j] = {.scores = scores + at + j * columns_,
                     .dp = dp + at + j * columns_,
                     .valid = Valid(first, i + j),
                     .log_sum = LogSum(first, i + j),
                     .dot = k_.dot(y + (i + j) * d_, dy + (i + j) * d_, d_)};
        }
        k_.gradients(rows, count, even, scale_, ds + at, columns_, ds_pairs + at, p_pairs + at);
      }
      PutQueries(TimesDown(ds, m, s_.keys_down, even), nullptr, a_.dqkv, stride_, first, end);
      AddTransposed(ds_pairs, PackRows(q, m, s_.q_pairs), m, n, a_.dkv);
      AddTransposed(p_pairs, PackRows(dy, m, s_.dy_pairs), m, n, a_.dkv + d_);
    });
  }

 private:
  // Finds row t of the context's rows and, after them, the run's.
  const T* Token(int64_t t, int64_t head) const {
    const int64_t row = t < context_ ? a_.run->context[t] : a_.run->begin + t - context_;
    return a_.qkv + row * stride_ + head * d_;
  }

  void PackAcross(int64_t head, std::vector<T>& to) const {
    T* packed = Room(to, d_ * columns_);
    for (int64_t t = 0; t < n_; ++t) {
      const T* token = Token(t, head);
      for (int64_t i = 0; i < d_; i += kPair) {
        std::memcpy(packed + i * columns_ + t * kPair, token + i, sizeof(T) * kPair);
      }
    }
  }

  void PackDown(int64_t head, std::vector<T>& to) const {
    T* packed = Room(to, columns_ * d_);
    for (int64_t t = 0; t < n_; t += kPair) {
      const T* tokens[kPair];
      const int64_t count = std::min(n_ - t, kPair);
      for (int64_t j = 0; j < count; ++j) tokens[j] = Token(t + j, head);
      k_.pack(tokens, count, d_, packed + t * d_);
    }
  }

  // Packs x [m, D] down.
  const T* PackRows(const T* x, int64_t m, std::vector<T>& to) const {
    T* packed = Room(to, RoundUp(m, kPair) * d_);
    for (int64_t i = 0; i < m; i += kPair) {
      const T* rows[kPair];
      const int64_t count = std::min(m - i, kPair);
      for (int64_t j = 0; j < count; ++j) rows[j] = x + (i + j) * d_;
      k_.pack(rows, count, d_, packed + i * d_);
    }
    return packed;
  }

  // Multiplies x [m, D] with a matrix packed across: [m, n] in rows of columns_.
  const float* TimesAcross(const T* x, int64_t m, const std::vector<T>& packed, int64_t n,
                           std::vector<float>& to) const {
    float* y = Room(to, m * columns_);
    k_.product({x, d_, kPair, packed.data(), columns_, y, columns_, m, n, d_});
    return y;
  }

  // Multiplies x [m, n] in rows of columns_ with a matrix packed down: [m, D].
  const float* TimesDown(const T* x, int64_t m, const std::vector<T>& packed, int64_t n) const {
    float* y = Room(s_.sums, m * d_);
    k_.product({x, columns_, kPair, packed.data(), d_, y, d_, m, d_, n});
    return y;
  }

  // Computes sum [n, D] in rows of 2 D += x^T y, with x [m, n], packed in pairs of rows of
  // columns_, and y [m, D] packed down.
  void AddTransposed(const T* x, const T* y, int64_t m, int64_t n, float* sum) const {
    k_.product({x, kPair, columns_ * kPair, y, d_, sum, 2 * d_, n, d_, RoundUp(m, kPair),
                /*add=*/true});
  }

  template <typename F>
  void ForEachTile(const F& f) const {
    for (int64_t first = 0; first < a_.run->rows; first += tile_positions_) {
      f(first, std::min(a_.run->rows, first + tile_positions_));
    }
  }

  // Gathers the R query heads of positions [first, end), [(end - first) R, D], a position's
  // together.
  const T* Queries(const T* x, int64_t stride, int64_t first, int64_t end,
                   std::vector<T>& to) const {
    const int64_t width = r_ * d_;
    T* q = Room(to, (end - first) * width);
    for (int64_t i = first; i < end; ++i) {
      std::memcpy(q + (i - first) * width, x + (a_.run->begin + i) * stride + a_.kv_head * width,
                  sizeof(T) * static_cast<size_t>(width));
    }
    return q;
  }
  // Puts the rows back to where they were, each times its factor, if any.
  void PutQueries(const float* rows, const float* factors, T* x, int64_t stride, int64_t first,
                  int64_t end) const {
    for (int64_t i = 0; i < (end - first) * r_; ++i) {
      k_.round(rows + i * d_, d_, factors != nullptr ? factors[i] : 1.0f,
               x + (a_.run->begin + first + i / r_) * stride + (a_.kv_head * r_ + i % r_) * d_);
    }
  }

  // Returns how many keys row i of the tile may see.
  int64_t Valid(int64_t first, int64_t i) const { return context_ + first + i / r_ + 1; }
  float& LogSum(int64_t first, int64_t i) const {
    return a_.log_sum[(a_.kv_head * r_ + i % r_) * a_.total_rows + a_.run->begin + first + i / r_];
  }

  const PackedAttention<T>& a_;
  const int64_t d_, r_, stride_, context_, n_, columns_, tile_positions_;
  const float scale_;
  const PanelKernels<T>& k_ = Panels<T>();
  Scratch<T>& s_;
};

}  // namespace

void PackedAttentionForward(const PackedAttention<uint16_t>& args) { Task(args).Forward(); }
void PackedAttentionForward(const PackedAttention<float>& args) { Task(args).Forward(); }
void PackedAttentionBackward(const PackedAttention<uint16_t>& args) { Task(args).Backward(); }
void PackedAttentionBackward(const PackedAttention<float>& args) { Task(args).Backward(); }

}  // namespace whetstone
