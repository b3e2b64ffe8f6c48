#include "gpu_trainer/train/pass/attention.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <utility>

#include "gpu_trainer/kernels/cpu/attention_packed.h"
#include "gpu_trainer/kernels/cpu/raw.h"
#include "gpu_trainer/kernels/simd_kernels.h"
#include "gpu_trainer/model/compute_type.h"
#include "gpu_trainer/profile/step_profile.h"
#include "gpu_trainer/train/pass/attention_flash.h"

namespace whetstone {
namespace {

// A tile has so many positions.
constexpr int64_t kTilePositions = 128;

using Run = AttentionRun;

// Returns the operations of one product of queries with the keys they may see.
double ProductFlops(const AttentionShape& shape, const std::vector<Run>& runs) {
  double pairs = 0;
  for (const Run& run : runs) {
    const double rows = static_cast<double>(run.rows);
    pairs += rows * static_cast<double>(run.context.size()) + rows * (rows + 1) / 2;
  }
  return 2 * pairs * static_cast<double>(shape.heads * shape.head_dim);
}

// Returns a [m, k] times b [n, k] transposed, in f32 sums.
torch::Tensor Products(const torch::Tensor& a, const torch::Tensor& b) {
  return torch::mm(a.to(WideType(a)), b.to(WideType(b)).t());
}

// A Task is one run and kv head, by LibTorch's operators.
class Task {
 public:
  Task(const AttentionShape& shape, const Run& run, int64_t kv_head, const torch::Tensor& qkv)
      : shape_(shape),
        run_(run),
        context_(static_cast<int64_t>(run.context.size())),
        kv_head_(kv_head),
        r_(shape.heads / shape.kv_heads),
        scale_(static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)))),
        qkv_(qkv),
        keys_(Gather(shape.heads + kv_head)),
        values_(Gather(shape.heads + shape.kv_heads + kv_head)) {}

  void Forward(const AttentionResult& result) const {
    ForEachTile([&](int64_t first, int64_t end) {
      const int64_t n = context_ + end;
      const torch::Tensor scores = Products(Queries(qkv_, first, end), keys_.narrow(0, 0, n));
      const torch::Tensor p = Probabilities(scores, first, end, result);
      PutQueries(torch::mm(p, values_.narrow(0, 0, n)), result.out, first, end);
    });
  }

  // Writes the queries' gradients into dqkv and returns those of keys and values,
  // [context + rows, 2 * D] f32.
  torch::Tensor Backward(const AttentionResult& forward, const torch::Tensor& dout,
                         const torch::Tensor& dqkv) const {
    const int64_t d = shape_.head_dim;
    torch::Tensor sums = torch::zeros({keys_.size(0), 2 * d}, qkv_.options().dtype(WideType(qkv_)));
    ForEachTile([&](int64_t first, int64_t end) {
      const int64_t n = context_ + end;
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
  // Returns the probabilities [M, n] of a tile's scores, in the compute type; stores their log
  // sums.
  torch::Tensor Probabilities(const torch::Tensor& scores, int64_t first, int64_t end,
                              const AttentionResult& result) const {
    const torch::Tensor visible = Visible(scores, first);
    const torch::Tensor log_sum = visible.logsumexp(-1);
    LogSums(result, first, end).copy_(log_sum.view({end - first, r_}).t());
    return (visible - log_sum.unsqueeze(1)).exp().to(qkv_.scalar_type());
  }

  // Returns the probabilities again, and the gradient of the scores, given that of the
  // probabilities.
  std::pair<torch::Tensor, torch::Tensor> Gradients(const torch::Tensor& scores,
                                                    const torch::Tensor& dp, int64_t first,
                                                    int64_t end,
                                                    const AttentionResult& forward) const {
    const torch::Tensor log_sum = LogSums(forward, first, end).t().reshape({-1, 1});
    const torch::Tensor p = (Visible(scores, first) - log_sum).exp();
    const torch::Tensor ds = p * (dp - (p * dp).sum(-1, /*keepdim=*/true)) * scale_;
    return {p.to(qkv_.scalar_type()), ds.to(qkv_.scalar_type())};
  }

  // Returns the scaled scores, minus infinity where a row may not look.
  torch::Tensor Visible(const torch::Tensor& scores, int64_t first) const {
    const torch::Tensor position = torch::arange(scores.size(0), scores.device())
                                       .div(r_, /*rounding_mode=*/"floor")
                                       .add(context_ + first)
                                       .unsqueeze(1);
    const torch::Tensor key = torch::arange(scores.size(1), scores.device()).unsqueeze(0);
    return (scores * scale_).masked_fill(key > position, -INFINITY);
  }
  // Returns the tile's slice of log_sum, [R, positions].
  torch::Tensor LogSums(const AttentionResult& result, int64_t first, int64_t end) const {
    return result.log_sum.narrow(0, kv_head_ * r_, r_).narrow(1, run_.begin + first, end - first);
  }

  template <typename F>
  void ForEachTile(const F& f) const {
    for (int64_t first = 0; first < run_.rows; first += kTilePositions) {
      f(first, std::min(run_.rows, first + kTilePositions));
    }
  }

  // Gathers one head's rows of the context, then of the run: [context + rows, D].
  torch::Tensor Gather(int64_t head) const {
    const torch::Tensor column = qkv_.narrow(1, head * shape_.head_dim, shape_.head_dim);
    return torch::cat(
        {column.index_select(0, torch::tensor(run_.context, torch::kLong).to(column.device())),
         column.narrow(0, run_.begin, run_.rows)},
        0);
  }

  // Returns the R query heads of positions [first, end), [(end - first) * R, D], a position's heads
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

  const AttentionShape& shape_;
  const Run& run_;
  const int64_t context_;
  const int64_t kv_head_;
  const int64_t r_;
  const float scale_;
  const torch::Tensor qkv_;
  const torch::Tensor keys_, values_;
};

// Returns the arguments of the SIMD kernels for a run and kv head (attention_packed.h).
template <typename T>
PackedAttention<T> PackedArgs(const AttentionShape& shape, const Run& run, int64_t kv_head,
                              const torch::Tensor& qkv, const AttentionResult& result) {
  PackedAttention<T> args;
  args.run = &run;
  args.kv_head = kv_head;
  args.heads = shape.heads;
  args.kv_heads = shape.kv_heads;
  args.head_dim = shape.head_dim;
  args.total_rows = qkv.size(0);
  args.qkv = Raw<T>(qkv);
  args.out = Raw<T>(result.out);
  args.log_sum = Raw<float>(result.log_sum);
  return args;
}

bool UsePacked(const torch::Tensor& qkv, bool operators_only) {
  return !operators_only && ProductKernelsServe(qkv);
}

// Calls body(task) for all tasks. Each thread takes the next one when it is done, so that neither
// runs of different lengths nor a busy core leave the others waiting. One thread takes them all
// where a device computes.
void ForEachTask(size_t tasks, bool on_cpu, const std::function<void(size_t)>& body) {
  std::atomic<size_t> next = 0;
  at::parallel_for(0, on_cpu ? at::get_num_threads() : 1, 1, [&](int64_t, int64_t) {
    torch::NoGradGuard no_grad;
    for (size_t task = next++; task < tasks; task = next++) body(task);
  });
}

// Adds the gradients that each task has for its context's keys and values and its own, [context +
// rows, 2, D], to those of the rows, dkv [T, 2, K, D], in the order of the runs.
void AddToRows(const std::vector<Run>& runs, const std::vector<torch::Tensor>& of_task,
               const torch::Tensor& dkv) {
  const int64_t kv_heads = dkv.size(2), d = dkv.size(3);
  // Adds the keys' (kv = 0) or values' (kv = 1) gradients of one head.
  const auto add = [&](const Run& run, const torch::Tensor& sums, int64_t kv_head, int64_t kv) {
    const int64_t n = static_cast<int64_t>(run.context.size());
    const torch::Tensor from = sums.select(1, kv), to = dkv.select(2, kv_head).select(1, kv);
    to.narrow(0, run.begin, run.rows).add_(from.narrow(0, n, run.rows));
    if (n == 0) return;
    if (!dkv.is_cpu() || dkv.scalar_type() != torch::kFloat) {
      const torch::Tensor context = torch::tensor(run.context, torch::kLong).to(dkv.device());
      to.index_add_(0, context, from.narrow(0, 0, n));
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      const float* x = Raw<float>(sums) + (i * 2 + kv) * d;
      float* row = Raw<float>(dkv) + ((run.context[i] * 2 + kv) * kv_heads + kv_head) * d;
      for (int64_t j = 0; j < d; ++j) row[j] += x[j];
    }
  };
  ForEachTask(2 * kv_heads, dkv.is_cpu(), [&](size_t task) {
    const int64_t kv_head = static_cast<int64_t>(task) / 2, kv = static_cast<int64_t>(task) % 2;
    for (size_t run = 0; run < runs.size(); ++run) {
      add(runs[run], of_task[run * kv_heads + kv_head], kv_head, kv);
    }
  });
}

}  // namespace

std::vector<AttentionRun> AttentionRuns(const std::vector<Node>& nodes) {
  std::vector<AttentionRun> runs;
  for (const Node& node : nodes) {
    AttentionRun run{.context = {}, .begin = node.begin, .rows = node.rows};
    if (node.parent >= 0) {
      const AttentionRun& parent = runs[node.parent];
      run.context = parent.context;
      for (int64_t i = 0; i < parent.rows; ++i) run.context.push_back(parent.begin + i);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

AttentionPlan PlanAttention(const std::vector<Node>& nodes, torch::Device device) {
  AttentionPlan plan{.runs = AttentionRuns(nodes), .flash = nullptr};
  if (!device.is_cpu()) plan.flash = std::make_shared<FlashLayout>(plan.runs, device);
  return plan;
}

AttentionResult AttentionForward(const AttentionShape& shape, const AttentionPlan& plan,
                                 const torch::Tensor& qkv, bool operators_only) {
  const std::vector<Run>& runs = plan.runs;
  const PartScope scope(Part::kAttention, 2 * ProductFlops(shape, runs));
  if (!operators_only && FlashServes(shape, qkv)) return FlashForward(shape, *plan.flash, qkv);
  AttentionResult result;
  result.out = torch::empty({qkv.size(0), shape.heads * shape.head_dim}, qkv.options());
  result.log_sum = torch::empty({shape.heads, qkv.size(0)}, qkv.options().dtype(WideType(qkv)));
  const bool packed = UsePacked(qkv, operators_only);
  ForEachTask(runs.size() * shape.kv_heads, qkv.is_cpu(), [&](size_t task) {
    const Run& run = runs[task / shape.kv_heads];
    const int64_t kv_head = static_cast<int64_t>(task) % shape.kv_heads;
    if (!packed) return Task(shape, run, kv_head, qkv).Forward(result);
    DispatchCompute(qkv, [&]<typename T>() {
      PackedAttentionForward(PackedArgs<T>(shape, run, kv_head, qkv, result));
    });
  });
  return result;
}

torch::Tensor AttentionBackward(const AttentionShape& shape, const AttentionPlan& plan,
                                const torch::Tensor& qkv, const AttentionResult& forward,
                                const torch::Tensor& dout, bool operators_only) {
  const std::vector<Run>& runs = plan.runs;
  const bool packed = UsePacked(qkv, operators_only);
  const int64_t d = shape.head_dim;
  // Queries, keys, values and probabilities have gradients; the scores again is no useful work.
  const PartScope scope(Part::kAttentionBackward, 4 * ProductFlops(shape, runs));
  if (!operators_only && FlashServes(shape, qkv))
    return FlashBackward(shape, *plan.flash, qkv, forward, dout);
  torch::Tensor dqkv = torch::empty_like(qkv);
  // dkv is in f32: keys and values collect gradients from all that come after them.
  torch::Tensor dkv =
      torch::zeros({qkv.size(0), 2, shape.kv_heads, d}, qkv.options().dtype(WideType(qkv)));
  std::vector<torch::Tensor> of_task(runs.size() * shape.kv_heads);  // [context + rows, 2, D]
  ForEachTask(of_task.size(), qkv.is_cpu(), [&](size_t task) {
    const Run& run = runs[task / shape.kv_heads];
    const int64_t kv_head = static_cast<int64_t>(task) % shape.kv_heads;
    torch::Tensor& sums = of_task[task];
    if (packed) {
      sums =
          torch::empty({static_cast<int64_t>(run.context.size()) + run.rows, 2, d}, torch::kFloat);
      DispatchCompute(qkv, [&]<typename T>() {
        PackedAttention<T> args = PackedArgs<T>(shape, run, kv_head, qkv, forward);
        args.dout = Raw<T>(dout);
        args.dqkv = Raw<T>(dqkv);
        args.dkv = Raw<float>(sums);
        PackedAttentionBackward(args);
      });
    } else {
      sums = Task(shape, run, kv_head, qkv).Backward(forward, dout, dqkv).view({-1, 2, d});
    }
  });
  AddToRows(runs, of_task, dkv);
  dqkv.narrow(1, shape.heads * d, 2 * shape.kv_heads * d)
      .copy_(dkv.view({qkv.size(0), 2 * shape.kv_heads * d}));
  return dqkv;
}

}  // namespace whetstone
