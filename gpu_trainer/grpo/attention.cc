#include "gpu_trainer/grpo/attention.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "gpu_trainer/grpo/raw.h"
#include "gpu_trainer/grpo/row_kernels.h"
#include "gpu_trainer/ops/bf16.h"
#include "gpu_trainer/ops/cpu.h"
#include "gpu_trainer/ops/linear_avx512.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {
namespace {

// Positions of one tile: its scores, 128 * R rows of f32, stay in the cache.
constexpr int64_t kTilePositions = 128;

// Rows [begin, begin + rows) attend to the prefix's rows and causally to themselves.
struct Run {
  int64_t prefix_begin = 0;
  int64_t prefix = 0;
  int64_t begin = 0;
  int64_t rows = 0;
};

std::vector<Run> RunsOf(const std::vector<Block>& blocks) {
  std::vector<Run> runs;
  for (const Block& block : blocks) {
    if (block.branches.size() == 1) {  // it simply continues its prefix
      runs.push_back({block.start, 0, block.start, block.prefix + block.branches[0]});
      continue;
    }
    runs.push_back({block.start, 0, block.start, block.prefix});
    int64_t begin = block.start + block.prefix;
    for (const int64_t rows : block.branches) {
      if (rows > 0) runs.push_back({block.start, block.prefix, begin, rows});
      begin += rows;
    }
  }
  return runs;
}

// Of one product of queries with the keys they may see.
double ProductFlops(const AttentionShape& shape, const std::vector<Run>& runs) {
  double pairs = 0;
  for (const Run& run : runs) {
    const double rows = static_cast<double>(run.rows);
    pairs += rows * static_cast<double>(run.prefix) + rows * (rows + 1) / 2;
  }
  return 2 * pairs * static_cast<double>(shape.heads * shape.head_dim);
}

// a [m, k] times b [n, k] transposed, f32 sums. Runs on the calling thread when that is one of
// at::parallel_for's.
torch::Tensor Products(const torch::Tensor& a, const torch::Tensor& b) {
  if (!a.is_cpu() || !HasAvx512Kernels()) {
    return torch::mm(a.to(torch::kFloat), b.to(torch::kFloat).t());
  }
  torch::Tensor y = torch::empty({a.size(0), b.size(0)}, a.options().dtype(torch::kFloat));
  const auto run = [&]<typename T>(const T* /*tag*/) {
    const LinearArgs<T, float> args = {static_cast<const T*>(a.const_data_ptr()),
                                       static_cast<const T*>(b.const_data_ptr()),
                                       nullptr,
                                       y.data_ptr<float>(),
                                       a.size(0),
                                       b.size(0),
                                       a.size(1)};
    LinearColumns(args, 0, args.n);
  };
  if (a.scalar_type() == torch::kBFloat16) {
    run(static_cast<const Bf16*>(nullptr));
  } else {
    run(static_cast<const float*>(nullptr));
  }
  return y;
}

// One run and kv head.
class Task {
 public:
  Task(const AttentionShape& shape, const Run& run, int64_t kv_head, const torch::Tensor& qkv,
       bool plain)
      : plain_(plain),
        shape_(shape),
        run_(run),
        kv_head_(kv_head),
        r_(shape.heads / shape.kv_heads),
        scale_(static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)))),
        qkv_(qkv),
        keys_(Gather(shape.heads + kv_head)),
        values_(Gather(shape.heads + shape.kv_heads + kv_head)) {}

  void Forward(const AttentionResult& result) const {
    ForEachTile([&](int64_t first, int64_t end) {
      const int64_t n = run_.prefix + end;
      const torch::Tensor scores = Products(Queries(qkv_, first, end), keys_.narrow(0, 0, n));
      const torch::Tensor p = Probabilities(scores, first, end, result);
      PutQueries(torch::mm(p, values_.narrow(0, 0, n)), result.out, first, end);
    });
  }

  // Writes the queries' gradients into dqkv and returns those of keys and values,
  // [prefix + rows, 2 * D] f32.
  torch::Tensor Backward(const AttentionResult& forward, const torch::Tensor& dout,
                         const torch::Tensor& dqkv) const {
    const int64_t d = shape_.head_dim;
    torch::Tensor sums = torch::zeros({keys_.size(0), 2 * d}, qkv_.options().dtype(torch::kFloat));
    ForEachTile([&](int64_t first, int64_t end) {
      const int64_t n = run_.prefix + end;
      const torch::Tensor keys = keys_.narrow(0, 0, n), values = values_.narrow(0, 0, n);
      const torch::Tensor queries = Queries(qkv_, first, end), dy = Queries(dout, first, end);
      const torch::Tensor scores = Products(queries, keys), dp = Products(dy, values);
      const auto [p, ds] = Gradients(scores, dp, first, end, forward);
      PutQueries(torch::mm(ds, keys), dqkv, first, end);
      sums.narrow(0, 0, n).narrow(1, 0, d).add_(torch::mm(ds.t(), queries));
      sums.narrow(0, 0, n).narrow(1, d, d).add_(torch::mm(p.t(), dy));
    });
    return sums;
  }

 private:
  // The probabilities [M, n] of a tile's scores, in the compute type; stores their log sums.
  torch::Tensor Probabilities(const torch::Tensor& scores, int64_t first, int64_t end,
                              const AttentionResult& result) const {
    const int64_t n = scores.size(1);
    if (plain_) {
      const torch::Tensor visible = Visible(scores, first);
      const torch::Tensor log_sum = visible.logsumexp(-1);
      LogSums(result, first, end).copy_(log_sum.view({end - first, r_}).t());
      return (visible - log_sum.unsqueeze(1)).exp().to(qkv_.scalar_type());
    }
    torch::Tensor p = torch::empty(scores.sizes(), qkv_.options());
    DispatchCompute(p, [&]<typename T>() {
      for (int64_t i = 0; i < scores.size(0); ++i) {
        LogSum(result, first, i) = kernels::Row<T>().attention_softmax(
            Raw<float>(scores) + i * n, n, Valid(first, i), scale_, Raw<T>(p) + i * n);
      }
    });
    return p;
  }

  // The probabilities again, and the gradient of the scores, given that of the probabilities.
  std::pair<torch::Tensor, torch::Tensor> Gradients(const torch::Tensor& scores,
                                                    const torch::Tensor& dp, int64_t first,
                                                    int64_t end,
                                                    const AttentionResult& forward) const {
    const int64_t n = scores.size(1);
    if (plain_) {
      const torch::Tensor log_sum = LogSums(forward, first, end).t().reshape({-1, 1});
      const torch::Tensor p = (Visible(scores, first) - log_sum).exp();
      const torch::Tensor ds = p * (dp - (p * dp).sum(-1, /*keepdim=*/true)) * scale_;
      return {p.to(qkv_.scalar_type()), ds.to(qkv_.scalar_type())};
    }
    torch::Tensor p = torch::empty(scores.sizes(), qkv_.options());
    torch::Tensor ds = torch::empty(scores.sizes(), qkv_.options());
    DispatchCompute(p, [&]<typename T>() {
      for (int64_t i = 0; i < scores.size(0); ++i) {
        kernels::Row<T>().attention_gradient(Raw<float>(scores) + i * n, Raw<float>(dp) + i * n, n,
                                             Valid(first, i), scale_, LogSum(forward, first, i),
                                             Raw<T>(p) + i * n, Raw<T>(ds) + i * n);
      }
    });
    return {p, ds};
  }

  // The scaled scores, minus infinity where a row may not look.
  torch::Tensor Visible(const torch::Tensor& scores, int64_t first) const {
    const torch::Tensor position = torch::arange(scores.size(0), scores.device())
                                       .div(r_, /*rounding_mode=*/"floor")
                                       .add(run_.prefix + first)
                                       .unsqueeze(1);
    const torch::Tensor key = torch::arange(scores.size(1), scores.device()).unsqueeze(0);
    return (scores * scale_).masked_fill(key > position, -INFINITY);
  }
  // The tile's part of log_sum, [R, positions].
  torch::Tensor LogSums(const AttentionResult& result, int64_t first, int64_t end) const {
    return result.log_sum.narrow(0, kv_head_ * r_, r_).narrow(1, run_.begin + first, end - first);
  }

  template <typename F>
  void ForEachTile(const F& f) const {
    for (int64_t first = 0; first < run_.rows; first += kTilePositions) {
      f(first, std::min(run_.rows, first + kTilePositions));
    }
  }

  // One head's rows of the prefix, then of the run: [prefix + rows, D].
  torch::Tensor Gather(int64_t head) const {
    const torch::Tensor column = qkv_.narrow(1, head * shape_.head_dim, shape_.head_dim);
    return torch::cat(
        {column.narrow(0, run_.prefix_begin, run_.prefix), column.narrow(0, run_.begin, run_.rows)},
        0);
  }

  // The R query heads of positions [first, end): [(end - first) * R, D], a position's heads
  // together.
  torch::Tensor QueryColumns(const torch::Tensor& x, int64_t first, int64_t end) const {
    return x.narrow(0, run_.begin + first, end - first)
        .narrow(1, kv_head_ * r_ * shape_.head_dim, r_ * shape_.head_dim);
  }
  torch::Tensor Queries(const torch::Tensor& x, int64_t first, int64_t end) const {
    return QueryColumns(x, first, end).contiguous().view({(end - first) * r_, shape_.head_dim});
  }
  void PutQueries(const torch::Tensor& rows, const torch::Tensor& x, int64_t first,
                  int64_t end) const {
    QueryColumns(x, first, end).copy_(rows.view({end - first, r_ * shape_.head_dim}));
  }

  // Keys that row i of the tile may see.
  int64_t Valid(int64_t first, int64_t i) const { return run_.prefix + first + i / r_ + 1; }
  float& LogSum(const AttentionResult& result, int64_t first, int64_t i) const {
    return result.log_sum.data_ptr<float>()[(kv_head_ * r_ + i % r_) * result.log_sum.size(1) +
                                            run_.begin + first + i / r_];
  }

  const bool plain_;
  const AttentionShape& shape_;
  const Run run_;
  const int64_t kv_head_;
  const int64_t r_;
  const float scale_;
  const torch::Tensor qkv_;
  const torch::Tensor keys_, values_;
};

// body(task, run, kv_head) for all of them, over the threads; in turn where a device computes.
template <typename F>
void ForEachTask(const AttentionShape& shape, const std::vector<Run>& runs, bool on_cpu,
                 const F& body) {
  const int64_t tasks = static_cast<int64_t>(runs.size()) * shape.kv_heads;
  at::parallel_for(0, tasks, on_cpu ? 1 : tasks, [&](int64_t begin, int64_t end) {
    torch::NoGradGuard no_grad;
    for (int64_t task = begin; task < end; ++task) {
      body(task, runs[task / shape.kv_heads], task % shape.kv_heads);
    }
  });
}

}  // namespace

AttentionResult AttentionForward(const AttentionShape& shape, const std::vector<Block>& blocks,
                                 const torch::Tensor& qkv, bool plain) {
  const std::vector<Run> runs = RunsOf(blocks);
  const PartScope scope(Part::kAttention, 2 * ProductFlops(shape, runs));
  AttentionResult result;
  result.out = torch::empty({qkv.size(0), shape.heads * shape.head_dim}, qkv.options());
  result.log_sum = torch::empty({shape.heads, qkv.size(0)}, qkv.options().dtype(torch::kFloat));
  plain = plain || !qkv.is_cpu();
  ForEachTask(shape, runs, qkv.is_cpu(), [&](int64_t, const Run& run, int64_t kv_head) {
    Task(shape, run, kv_head, qkv, plain).Forward(result);
  });
  return result;
}

torch::Tensor AttentionBackward(const AttentionShape& shape, const std::vector<Block>& blocks,
                                const torch::Tensor& qkv, const AttentionResult& forward,
                                const torch::Tensor& dout, bool plain) {
  plain = plain || !qkv.is_cpu();
  const int64_t d = shape.head_dim;
  const std::vector<Run> runs = RunsOf(blocks);
  // The gradients of queries, keys, values and probabilities; the scores again is no useful work.
  const PartScope scope(Part::kAttentionBackward, 4 * ProductFlops(shape, runs));
  torch::Tensor dqkv = torch::empty_like(qkv);
  // In f32: a prefix's keys and values collect gradients from every branch.
  torch::Tensor dkv =
      torch::zeros({qkv.size(0), 2, shape.kv_heads, d}, qkv.options().dtype(torch::kFloat));
  std::vector<torch::Tensor> of_prefix(runs.size() * shape.kv_heads);
  ForEachTask(shape, runs, qkv.is_cpu(), [&](int64_t task, const Run& run, int64_t kv_head) {
    const torch::Tensor sums =
        Task(shape, run, kv_head, qkv, plain).Backward(forward, dout, dqkv).view({-1, 2, d});
    // A prefix's own run comes first; its rows are touched by nobody else until all are done.
    dkv.narrow(0, run.begin, run.rows)
        .select(2, kv_head)
        .copy_(sums.narrow(0, run.prefix, run.rows));
    if (run.prefix > 0) of_prefix[task] = sums.narrow(0, 0, run.prefix);
  });
  for (size_t task = 0; task < of_prefix.size(); ++task) {
    if (!of_prefix[task].defined()) continue;
    const Run& run = runs[task / shape.kv_heads];
    dkv.narrow(0, run.prefix_begin, run.prefix)
        .select(2, static_cast<int64_t>(task) % shape.kv_heads)
        .add_(of_prefix[task]);
  }
  dqkv.narrow(1, shape.heads * d, 2 * shape.kv_heads * d)
      .copy_(dkv.view({qkv.size(0), 2 * shape.kv_heads * d}));
  return dqkv;
}

}  // namespace whetstone
