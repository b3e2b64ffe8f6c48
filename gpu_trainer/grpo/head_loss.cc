#include "gpu_trainer/grpo/head_loss.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "gpu_trainer/grpo/raw.h"
#include "gpu_trainer/grpo/row_kernels.h"
#include "gpu_trainer/grpo/train_ops.h"
#include "gpu_trainer/ops/linear.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {
namespace {

using Span = std::pair<size_t, size_t>;  // targets [first, second)

// One member of the targets as a tensor [n] i64.
template <typename M>
torch::Tensor Column(const std::vector<Target>& targets, Span span, M Target::*member) {
  torch::Tensor column =
      torch::empty({static_cast<int64_t>(span.second - span.first)}, torch::kLong);
  int64_t* out = column.data_ptr<int64_t>();
  for (size_t i = span.first; i < span.second; ++i) *out++ = targets[i].*member;
  return column;
}

// Statistics of every row of logits [n, V] f32.
void Statistics(const torch::Tensor& logits, const std::vector<Target>& targets, Span span,
                float scale, std::vector<float>* log_sums, HeadOutput* out) {
  const int64_t n = logits.size(0), v = logits.size(1);
  log_sums->resize(n);
  if (!logits.is_cpu()) {
    const torch::Tensor log_p = torch::log_softmax(logits * scale, -1);
    const torch::Tensor entropy = -(log_p.exp() * log_p).sum(-1).cpu();
    const torch::Tensor ids = Column(targets, span, &Target::id).unsqueeze(1).to(logits.device());
    const torch::Tensor chosen = log_p.gather(1, ids);
    const torch::Tensor sums = (logits.gather(1, ids) * scale - chosen).cpu();
    const torch::Tensor chosen_host = chosen.cpu();
    for (int64_t i = 0; i < n; ++i) {
      (*log_sums)[i] = sums.data_ptr<float>()[i];
      out->logprobs[span.first + i] = chosen_host.data_ptr<float>()[i];
      out->entropies[span.first + i] = entropy.data_ptr<float>()[i];
    }
    return;
  }
  at::parallel_for(0, n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* row = Raw<float>(logits) + i * v;
      const kernels::SoftmaxRow row_statistics = kernels::SoftmaxStatistics(row, v, scale);
      const size_t target = span.first + i;
      (*log_sums)[i] = row_statistics.log_sum;
      out->logprobs[target] = row[targets[target].id] * scale - row_statistics.log_sum;
      out->entropies[target] = row_statistics.entropy;
    }
  });
}

// The gradient of every row of logits, [n, V] in `dtype`.
torch::Tensor LogitGradient(const torch::Tensor& logits, torch::ScalarType dtype,
                            const std::vector<Target>& targets, Span span, float scale,
                            const std::vector<float>& log_sums, const std::vector<float>& slopes) {
  const int64_t n = logits.size(0), v = logits.size(1);
  if (!logits.is_cpu()) {
    torch::Tensor p = torch::softmax(logits * scale, -1).neg_();
    const torch::Tensor ids = Column(targets, span, &Target::id).unsqueeze(1).to(p.device());
    p.scatter_add_(1, ids, torch::ones({n, 1}, p.options()));
    const torch::Tensor factor =
        torch::from_blob(const_cast<float*>(slopes.data()), {n, 1}).to(p.device()) * scale;
    return p.mul_(factor).to(dtype);
  }
  torch::Tensor gradient = torch::empty({n, v}, dtype);
  DispatchCompute(gradient, [&]<typename T>() {
    at::parallel_for(0, n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        kernels::Row<T>().softmax_gradient(Raw<float>(logits) + i * v, v, scale, log_sums[i],
                                           slopes[i], targets[span.first + i].id,
                                           Raw<T>(gradient) + i * v);
      }
    });
  });
  return gradient;
}

}  // namespace

HeadOutput HeadLoss(const torch::Tensor& hidden, const torch::Tensor& weight,
                    const std::vector<Target>& targets, double temperature,
                    const TokenObjective& objective, HeadGradient* gradient, int64_t chunk_rows) {
  TORCH_CHECK((objective == nullptr) == (gradient == nullptr),
              "HeadLoss: an objective and a place for its gradient go together");
  const double product_flops =
      2.0 * static_cast<double>(targets.size()) * static_cast<double>(weight.numel());
  const PartScope scope(Part::kHead, (gradient == nullptr ? 1 : 3) * product_flops);
  const float scale = static_cast<float>(1.0 / temperature);
  HeadOutput out;
  out.logprobs.resize(targets.size());
  out.entropies.resize(targets.size());
  if (gradient != nullptr) {
    gradient->hidden = torch::zeros(hidden.sizes(), hidden.options().dtype(torch::kFloat));
  }
  std::vector<float> log_sums, slopes;
  for (size_t first = 0; first < targets.size(); first += chunk_rows) {
    const Span span{first, std::min(targets.size(), first + static_cast<size_t>(chunk_rows))};
    const torch::Tensor rows = Column(targets, span, &Target::row).to(hidden.device());
    const torch::Tensor h = hidden.index_select(0, rows);
    // Sums as they are, f32: rounded to bf16 a log-probability would be off by up to 0.06, and no
    // longer that of the distribution which generation sampled from.
    const torch::Tensor logits = Linear(h, weight);
    Statistics(logits, targets, span, scale, &log_sums, &out);
    if (objective == nullptr) continue;

    slopes.resize(span.second - span.first);
    bool any = false;
    for (size_t i = span.first; i < span.second; ++i) {
      slopes[i - span.first] = static_cast<float>(objective(i, out.logprobs[i], out.entropies[i]));
      any = any || slopes[i - span.first] != 0;
    }
    if (!any) continue;
    const torch::Tensor dlogits =
        LogitGradient(logits, weight.scalar_type(), targets, span, scale, log_sums, slopes);
    gradient->hidden.index_add_(0, rows, torch::mm(dlogits, weight).to(torch::kFloat));
    if (gradient->weight.defined()) {
      AccumulateInto(gradient->weight, torch::mm(dlogits.t(), h).contiguous());
    }
  }
  return out;
}

}  // namespace whetstone
