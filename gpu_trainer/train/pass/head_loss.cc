#include "gpu_trainer/train/pass/head_loss.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "gpu_trainer/kernels/cpu/raw.h"
#include "gpu_trainer/kernels/cpu/row_kernels.h"
#include "gpu_trainer/kernels/cuda/cuda_choice.h"
#include "gpu_trainer/kernels/linear.h"
#include "gpu_trainer/kernels/simd_kernels.h"
#include "gpu_trainer/model/compute_type.h"
#include "gpu_trainer/profile/step_profile.h"
#include "gpu_trainer/train/pass/elementwise_layers.h"
#include "gpu_trainer/train/pass/row_sum.h"

namespace whetstone {
namespace {

using Span = std::pair<size_t, size_t>;  // Targets [first, second).

// By says what computes: SIMD kernels of the CPU, LibTorch's operators, or kernels for GPUs, which
// leave the work to the operators where they can not be launched.
enum class By { kSimdKernels, kOperators, kDevice };

// Returns one member of the targets as a tensor [n] i64.
template <typename M>
torch::Tensor Column(const std::vector<Target>& targets, Span span, M Target::*member) {
  torch::Tensor column =
      torch::empty({static_cast<int64_t>(span.second - span.first)}, torch::kLong);
  int64_t* out = column.data_ptr<int64_t>();
  for (size_t i = span.first; i < span.second; ++i) *out++ = targets[i].*member;
  return column;
}

// Computes Statistics (below) by a kernel for GPUs. Returns false if none serves.
bool StatisticsOnDevice(const torch::Tensor& logits, const std::vector<Target>& targets, Span span,
                        float scale, std::vector<kernels::SoftmaxRow>* rows, HeadOutput* out) {
  const CudaKernels* const device_kernels = KernelsFor(logits.device());
  if (device_kernels == nullptr) return false;
  const int64_t n = logits.size(0);
  const torch::Tensor ids = Column(targets, span, &Target::id).to(logits.device());
  const torch::Tensor results = torch::empty({3, n}, logits.options());
  float* const numbers = Raw<float>(results);
  const SoftmaxStatisticsArgs args = {.logits = Raw<float>(logits),
                                      .targets = Raw<int64_t>(ids),
                                      .log_sum = numbers,
                                      .entropy = numbers + n,
                                      .logprob = numbers + 2 * n,
                                      .rows = n,
                                      .vocab = logits.size(1),
                                      .scale = scale};
  if (!Launched("softmax_statistics",
                device_kernels->softmax_statistics(args, LaunchStream(logits.device()).handle()))) {
    return false;
  }
  const torch::Tensor host = results.cpu();
  for (int64_t i = 0; i < n; ++i) {
    const float* const of_row = Raw<float>(host) + i;
    (*rows)[i] = {.log_sum = of_row[0], .entropy = of_row[n]};
    out->logprobs[span.first + i] = of_row[2 * n];
    out->entropies[span.first + i] = of_row[n];
  }
  return true;
}

// Computes the statistics of every row of logits [n, V] f32.
void Statistics(const torch::Tensor& logits, const std::vector<Target>& targets, Span span,
                float scale, By by, std::vector<kernels::SoftmaxRow>* rows, HeadOutput* out) {
  const int64_t n = logits.size(0), v = logits.size(1);
  rows->resize(n);
  if (by == By::kDevice && StatisticsOnDevice(logits, targets, span, scale, rows, out)) return;
  if (by != By::kSimdKernels) {
    const torch::Tensor log_p = torch::log_softmax(logits * scale, -1);
    const torch::Tensor entropy = -(log_p.exp() * log_p).sum(-1).to(torch::kFloat).cpu();
    const torch::Tensor ids = Column(targets, span, &Target::id).unsqueeze(1).to(logits.device());
    const torch::Tensor chosen = log_p.gather(1, ids);
    const torch::Tensor sums = (logits.gather(1, ids) * scale - chosen).to(torch::kFloat).cpu();
    const torch::Tensor chosen_host = chosen.to(torch::kFloat).cpu();
    for (int64_t i = 0; i < n; ++i) {
      (*rows)[i] = {.log_sum = sums.data_ptr<float>()[i], .entropy = entropy.data_ptr<float>()[i]};
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
      (*rows)[i] = row_statistics;
      out->logprobs[target] = row[targets[target].id] * scale - row_statistics.log_sum;
      out->entropies[target] = row_statistics.entropy;
    }
  });
}

// Returns the loss's gradients and statistics of all rows as [4, n, 1] f32: c, h, entropy, log sum.
torch::Tensor Columns(const std::vector<kernels::SoftmaxRow>& rows,
                      const std::vector<kernels::SoftmaxLossGradient>& loss_gradients,
                      torch::Device device) {
  const int64_t n = static_cast<int64_t>(rows.size());
  torch::Tensor host = torch::empty({4, n, 1});
  float* numbers = host.data_ptr<float>();
  for (int64_t i = 0; i < n; ++i) {
    numbers[i] = loss_gradients[i].logprob;
    numbers[n + i] = loss_gradients[i].entropy;
    numbers[2 * n + i] = rows[i].entropy;
    numbers[3 * n + i] = rows[i].log_sum;
  }
  return host.to(device);
}

// Computes LogitGradient by a kernel for GPUs, into `gradient`. Returns false if none serves.
bool GradientOnDevice(const torch::Tensor& logits, int64_t first,
                      const std::vector<Target>& targets, Span span, float scale,
                      const torch::Tensor& columns, const torch::Tensor& gradient) {
  const CudaKernels* const device_kernels = KernelsFor(logits.device());
  if (device_kernels == nullptr) return false;
  const int64_t n = logits.size(0);
  const torch::Tensor ids = Column(targets, span, &Target::id).to(logits.device());
  const float* const numbers = Raw<float>(columns);
  const SoftmaxGradientArgs args = {.logits = Raw<float>(logits),
                                    .targets = Raw<int64_t>(ids),
                                    .log_sum = numbers + 3 * n,
                                    .entropy = numbers + 2 * n,
                                    .c = numbers,
                                    .h = numbers + n,
                                    .gradient = gradient.data_ptr(),
                                    .rows = n,
                                    .vocab = logits.size(1),
                                    .first = first,
                                    .count = gradient.size(1),
                                    .scale = scale,
                                    .type = NumberTypeOf(gradient.scalar_type())};
  return Launched("softmax_gradient",
                  device_kernels->softmax_gradient(args, LaunchStream(logits.device()).handle()));
}

// Returns the gradient of logits [first, first + count) of every row, [n, count] in `dtype`. With p
// = softmax(scale * logits), c and h the loss's derivatives by log-probability and entropy H, it is
// scale * (c * (1{target} - p) - h * p * (log p + H)).
torch::Tensor LogitGradient(const torch::Tensor& logits, int64_t first, int64_t count,
                            torch::ScalarType dtype, const std::vector<Target>& targets, Span span,
                            float scale, By by, const std::vector<kernels::SoftmaxRow>& rows,
                            const std::vector<kernels::SoftmaxLossGradient>& loss_gradients) {
  const int64_t n = logits.size(0), v = logits.size(1);
  if (by != By::kSimdKernels) {
    const torch::Tensor columns = Columns(rows, loss_gradients, logits.device());
    if (by == By::kDevice) {
      torch::Tensor gradient = torch::empty({n, count}, logits.options().dtype(dtype));
      if (GradientOnDevice(logits, first, targets, span, scale, columns, gradient)) return gradient;
    }
    const torch::Tensor c = columns[0], h = columns[1], entropy = columns[2];
    const torch::Tensor log_p = logits.narrow(1, first, count) * scale - columns[3];
    torch::Tensor gradient = log_p.exp().mul_((log_p + entropy).mul_(h).add_(c)).neg_();
    const torch::Tensor ids =
        torch::arange(first, first + count, torch::dtype(torch::kLong).device(logits.device()));
    const torch::Tensor chosen =
        Column(targets, span, &Target::id).unsqueeze(1).to(logits.device()) == ids;
    gradient.add_(chosen * c);
    return gradient.mul_(scale).to(dtype);
  }
  torch::Tensor gradient = torch::empty({n, count}, dtype);
  DispatchCompute(gradient, [&]<typename T>() {
    at::parallel_for(0, n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        kernels::Row<T>().softmax_gradient(
            Raw<float>(logits) + i * v + first, count, scale, rows[i], loss_gradients[i],
            targets[span.first + i].id - first, Raw<T>(gradient) + i * count);
      }
    });
  });
  return gradient;
}

}  // namespace

HeadOutput HeadLoss(const torch::Tensor& hidden, const torch::Tensor& weight,
                    const std::vector<Target>& targets, double temperature,
                    const TokenObjective& objective, HeadGradient* gradient,
                    std::optional<HeadChunk> chosen, bool operators_only) {
  TORCH_CHECK((objective == nullptr) == (gradient == nullptr),
              "HeadLoss: an objective and a place for its gradient go together");
  const torch::ScalarType wide = WideType(hidden.scalar_type());
  const bool kernels_serve = wide == torch::kFloat && KernelsFor(hidden.device()) != nullptr;
  const By by = !operators_only && kernels_serve              ? By::kDevice
                : operators_only || !SimdKernelsServe(hidden) ? By::kOperators
                                                              : By::kSimdKernels;
  const HeadChunk chunk = chosen.value_or(by == By::kDevice ? kHeadChunkOfAGpu : HeadChunk{});
  const double product_flops =
      2.0 * static_cast<double>(targets.size()) * static_cast<double>(weight.numel());
  const PartScope scope(Part::kHead, (gradient == nullptr ? 1 : 3) * product_flops);
  const float scale = static_cast<float>(1.0 / temperature);
  HeadOutput out;
  out.logprobs.resize(targets.size());
  out.entropies.resize(targets.size());
  if (gradient != nullptr) {
    gradient->hidden = torch::zeros(hidden.sizes(), hidden.options().dtype(wide));
  }
  std::vector<kernels::SoftmaxRow> row_statistics;
  std::vector<kernels::SoftmaxLossGradient> loss_gradients;
  for (size_t first = 0; first < targets.size(); first += chunk.rows) {
    const Span span{first, std::min(targets.size(), first + static_cast<size_t>(chunk.rows))};
    const torch::Tensor h =
        hidden.index_select(0, Column(targets, span, &Target::row).to(hidden.device()));
    // The sums stay as they are, f32: rounded to bf16 a log-probability would be off by up to 0.06,
    // and no longer that of the distribution which generation sampled from.
    const torch::Tensor logits = Linear(h, weight);
    Statistics(logits, targets, span, scale, by, &row_statistics, &out);
    if (objective == nullptr) continue;

    loss_gradients.resize(span.second - span.first);
    bool any = false;
    for (size_t i = span.first; i < span.second; ++i) {
      const TokenGradient of_target = objective(i, out.logprobs[i], out.entropies[i]);
      loss_gradients[i - span.first] = {.logprob = static_cast<float>(of_target.logprob),
                                        .entropy = static_cast<float>(of_target.entropy)};
      any = any || of_target.logprob != 0 || of_target.entropy != 0;
    }
    if (!any) continue;
    torch::Tensor dh = torch::zeros(h.sizes(), h.options().dtype(wide));
    for (int64_t v = 0; v < weight.size(0); v += chunk.vocabulary) {
      const int64_t count = std::min(chunk.vocabulary, weight.size(0) - v);
      const torch::Tensor dlogits = LogitGradient(logits, v, count, weight.scalar_type(), targets,
                                                  span, scale, by, row_statistics, loss_gradients);
      AccumulateProduct(dh, dlogits, weight.narrow(0, v, count));
      if (!gradient->weight.defined()) continue;
      AccumulateProduct(gradient->weight.narrow(0, v, count), dlogits.t(), h);
    }
    std::vector<int64_t> rows;
    for (size_t i = span.first; i < span.second; ++i) rows.push_back(targets[i].row);
    RowSum(rows, hidden.device()).AddTo(gradient->hidden, dh);
  }
  return out;
}

}  // namespace whetstone
