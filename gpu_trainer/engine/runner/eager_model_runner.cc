#include "gpu_trainer/engine/runner/eager_model_runner.h"

#include <algorithm>

#include "gpu_trainer/engine/runner/prefill.h"
#include "gpu_trainer/kernels/linear.h"
#include "gpu_trainer/model/forward.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {

static_assert(kBatchInvariantRows == kLogitRows);

EagerModelRunner::EagerModelRunner(const ModelConfig& config, const Weights& weights,
                                   const RopeTable& rope, const ModelRunnerOptions& options)
    : config_(config),
      weights_(weights),
      rope_(rope),
      kernels_are_batch_invariant_(IsBatchInvariant(weights.device(), weights.dtype())),
      padded_(options.batch_invariant && !kernels_are_batch_invariant_),
      work_(config, static_cast<int64_t>(torch::elementSize(weights.dtype()))),
      cache_(MakeKvCache(config, weights.dtype(), weights.device(), options.slots,
                         options.suffix_tokens, /*batch_invariant=*/padded_)) {}

torch::Tensor EagerModelRunner::Prefill(int32_t prefix, const std::vector<int32_t>& ids) {
  return PrefillLogits(
      config_, weights_, rope_, work_, ids,
      [&](int64_t layer, const torch::Tensor& qkv) { return cache_->Prefill(prefix, layer, qkv); });
}

absl::StatusOr<std::vector<SampledToken>> EagerModelRunner::Step(
    const std::vector<DecodeInput>& inputs, LogitsFn on_logits) {
  torch::NoGradGuard no_grad;
  const size_t at_once = padded_ ? static_cast<size_t>(kBatchInvariantRows) : inputs.size();
  for (size_t i = 0; i < inputs.size(); i += at_once) {
    DecodePass(inputs, i, std::min(inputs.size(), i + at_once), on_logits);
  }
  return std::vector<SampledToken>();
}

// Runs one forward pass of inputs [begin, end).
void EagerModelRunner::DecodePass(const std::vector<DecodeInput>& inputs, size_t begin, size_t end,
                                  LogitsFn on_logits) {
  std::vector<int64_t> ids, positions;
  std::vector<DecodeRow> rows;
  int64_t pairs = 0, tokens_read = 0;  // They count one layer's attention.
  for (size_t i = begin; i < end; ++i) {
    const DecodeInput& input = inputs[i];
    ids.push_back(input.token);
    ids.insert(ids.end(), input.draft.begin(), input.draft.end());
    tokens_read += input.suffix + input.rows();
    if (i == begin || inputs[i - 1].prefix != input.prefix) tokens_read += input.prefix_tokens;
    for (int64_t j = 0; j < input.rows(); ++j) {
      positions.push_back(input.position() + j);
      pairs += positions.back() + 1;
      rows.push_back({input.prefix, input.slot, input.suffix + j});
    }
  }
  const int64_t real = static_cast<int64_t>(rows.size());
  const Work attention = work_.LayerAttention(pairs, tokens_read);
  const Work matmul = work_.DecodeMatmul(real);
  const PartScope scope(Part::kDecodeMatmul, matmul.flops, matmul.bytes);
  const int64_t padding = padded_ ? kBatchInvariantRows - real : 0;
  ids.resize(static_cast<size_t>(real + padding), 0);
  positions.resize(ids.size(), 0);
  const auto on_device = [&](const std::vector<int64_t>& numbers) {
    return torch::tensor(numbers, torch::kLong).to(weights_.device());
  };
  const torch::Tensor position = on_device(positions);
  const torch::Tensor hidden =
      Forward(config_, weights_, on_device(ids), rope_.cos.index_select(0, position),
              rope_.sin.index_select(0, position), [&](int64_t layer, const torch::Tensor& qkv) {
                const PartScope attending(Part::kDecodeAttention, attention.flops, attention.bytes);
                const torch::Tensor out = cache_->Attend(layer, qkv.narrow(0, 0, real), rows);
                return padding > 0 ? at::constant_pad_nd(out, {0, 0, 0, padding}) : out;
              });
  int64_t row = 0;
  for (size_t i = begin; i < end;) {
    // The head runs for as many sequences as have kLogitRows rows together.
    const size_t first = i;
    int64_t count = 0;
    while (i < end && (i == first || count + inputs[i].rows() <= kLogitRows)) {
      count += inputs[i++].rows();
    }
    const torch::Tensor logits =
        Linear(hidden.narrow(0, row, count + padding), weights_.lm_head).cpu();
    on_logits(first, i, logits.const_data_ptr<float>());
    row += count;
  }
}

}  // namespace whetstone
