#include "gpu_trainer/grpo/attention_packed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "gpu_trainer/grpo/panel_product.h"
#include "gpu_trainer/grpo/row_kernels.h"

namespace whetstone {
namespace {

// Rows of one tile's scores: 192 of 400 f32 are 300 KB.
constexpr int64_t kTileRows = 192;

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Memory that a thread keeps from one task to the next.
template <typename T>
struct Scratch {
  std::vector<T> keys_across, values_across;  // [D / pair, columns, pair]: for products with K^T
  std::vector<T> keys_down, values_down;      // [columns / pair, D, pair]: for products with K
  std::vector<T> q, dy, q_across, dy_across;
  std::vector<T> p, ds, p_pairs, ds_pairs;
  std::vector<float> scores, dp, sums, dkeys, dvalues;

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

void Round(const float* x, int64_t n, float* y) { std::memcpy(y, x, sizeof(float) * n); }
void Round(const float* x, int64_t n, uint16_t* y) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, x + i, sizeof(bits));
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    y[i] = static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
  }
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
      for (int64_t i = 0; i < m; ++i) {
        LogSum(first, i) = kernels::Row<T>().attention_softmax(
            scores + i * columns_, even, Valid(first, i), scale_, p + i * columns_);
      }
      PutQueries(TimesDown(p, m, s_.values_down, even), a_.out, a_.heads * d_, first, end);
    });
  }

  void Backward() {
    PackAcross(a_.heads + a_.kv_head, s_.keys_across);
    PackAcross(a_.heads + a_.kv_heads + a_.kv_head, s_.values_across);
    PackDown(a_.heads + a_.kv_head, s_.keys_down);
    float* dkeys = Room(s_.dkeys, d_ * columns_);
    float* dvalues = Room(s_.dvalues, d_ * columns_);
    std::fill(dkeys, dkeys + d_ * columns_, 0.0f);
    std::fill(dvalues, dvalues + d_ * columns_, 0.0f);
    ForEachTile([&](int64_t first, int64_t end) {
      const int64_t m = (end - first) * r_, n = context_ + end, even = RoundUp(n, kPair);
      const T* q = Queries(a_.qkv, stride_, first, end, s_.q);
      const T* dy = Queries(a_.dout, a_.heads * d_, first, end, s_.dy);
      const float* scores = TimesAcross(q, m, s_.keys_across, n, s_.scores);
      const float* dp = TimesAcross(dy, m, s_.values_across, n, s_.dp);
      T* p = Room(s_.p, m * columns_);
      T* ds = Room(s_.ds, m * columns_);
      for (int64_t i = 0; i < m; ++i) {
        const int64_t at = i * columns_;
        kernels::Row<T>().attention_gradient(scores + at, dp + at, even, Valid(first, i), scale_,
                                             LogSum(first, i), p + at, ds + at);
      }
      PutQueries(TimesDown(ds, m, s_.keys_down, even), a_.dqkv, stride_, first, end);
      AddAcross(q, s_.q_across, ds, s_.ds_pairs, m, n, dkeys);
      AddAcross(dy, s_.dy_across, p, s_.p_pairs, m, n, dvalues);
    });
    for (int64_t t = 0; t < n_; ++t) {
      float* row = a_.dkv + t * 2 * d_;
      for (int64_t i = 0; i < d_; ++i) row[i] = dkeys[i * columns_ + t];
      for (int64_t i = 0; i < d_; ++i) row[d_ + i] = dvalues[i * columns_ + t];
    }
  }

 private:
  // The context's rows, then the run's.
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
      T* row = packed + t * d_;
      for (int64_t j = 0; j < kPair; ++j) {
        const T* token = t + j < n_ ? Token(t + j, head) : nullptr;
        for (int64_t i = 0; i < d_; ++i) row[i * kPair + j] = token != nullptr ? token[i] : T{};
      }
    }
  }

  // x [m, D] times a matrix packed across: [m, n] in rows of columns_.
  const float* TimesAcross(const T* x, int64_t m, const std::vector<T>& packed, int64_t n,
                           std::vector<float>& to) const {
    float* y = Room(to, m * columns_);
    PanelProduct({x, d_, packed.data(), columns_, y, columns_, m, n, d_});
    return y;
  }

  // x [m, n] in rows of columns_ times a matrix packed down: [m, D].
  const float* TimesDown(const T* x, int64_t m, const std::vector<T>& packed, int64_t n) const {
    float* y = Room(s_.sums, m * d_);
    PanelProduct({x, columns_, packed.data(), d_, y, d_, m, d_, n});
    return y;
  }

  // sum [D, n] in rows of columns_ += x^T y, with x [m, D] and y [m, n] in rows of columns_.
  void AddAcross(const T* x, std::vector<T>& x_room, const T* y, std::vector<T>& y_room, int64_t m,
                 int64_t n, float* sum) const {
    const int64_t even = RoundUp(m, kPair);
    T* across = Room(x_room, d_ * even);
    for (int64_t i = 0; i < even; ++i) {
      for (int64_t j = 0; j < d_; ++j) across[j * even + i] = i < m ? x[i * d_ + j] : T{};
    }
    if constexpr (kPair == 2) {
      T* pairs = Room(y_room, even * columns_);
      for (int64_t i = 0; i < m; i += 2) {
        const T* first = y + i * columns_;
        T* to = pairs + i * columns_;
        if (i + 1 < m) {
          const T* second = first + columns_;
          for (int64_t j = 0; j < n; ++j) {
            to[2 * j] = first[j];
            to[2 * j + 1] = second[j];
          }
        } else {
          for (int64_t j = 0; j < n; ++j) {
            to[2 * j] = first[j];
            to[2 * j + 1] = T{};
          }
        }
      }
      y = pairs;
    }
    PanelProduct({across, even, y, columns_, sum, columns_, d_, n, even, /*add=*/true});
  }

  template <typename F>
  void ForEachTile(const F& f) const {
    for (int64_t first = 0; first < a_.run->rows; first += tile_positions_) {
      f(first, std::min(a_.run->rows, first + tile_positions_));
    }
  }

  // The R query heads of positions [first, end), a position's heads together: [(end - first) R, D].
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
  void PutQueries(const float* rows, T* x, int64_t stride, int64_t first, int64_t end) const {
    const int64_t width = r_ * d_;
    for (int64_t i = first; i < end; ++i) {
      Round(rows + (i - first) * width, width,
            x + (a_.run->begin + i) * stride + a_.kv_head * width);
    }
  }

  // Keys that row i of the tile may see.
  int64_t Valid(int64_t first, int64_t i) const { return context_ + first + i / r_ + 1; }
  float& LogSum(int64_t first, int64_t i) const {
    return a_.log_sum[(a_.kv_head * r_ + i % r_) * a_.total_rows + a_.run->begin + first + i / r_];
  }

  const PackedAttention<T>& a_;
  const int64_t d_, r_, stride_, context_, n_, columns_, tile_positions_;
  const float scale_;
  Scratch<T>& s_;
};

}  // namespace

void PackedAttentionForward(const PackedAttention<uint16_t>& args) { Task(args).Forward(); }
void PackedAttentionForward(const PackedAttention<float>& args) { Task(args).Forward(); }
void PackedAttentionBackward(const PackedAttention<uint16_t>& args) { Task(args).Backward(); }
void PackedAttentionBackward(const PackedAttention<float>& args) { Task(args).Backward(); }

}  // namespace whetstone
