#include "gpu_trainer/engine/runner/cuda_model_runner.h"

#include <algorithm>
#include <cstring>

#include "gpu_trainer/engine/runner/prefill.h"
#include "gpu_trainer/kernels/cuda/cuda_choice.h"
#include "gpu_trainer/kernels/elementwise.h"
#include "gpu_trainer/kernels/linear.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {
namespace {

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
int64_t Splits(int64_t tokens) { return (tokens + kSplitTokens - 1) / kSplitTokens; }

bool Fits(const ModelConfig& config) {
  return config.head_dim % kKvTile == 0 && config.head_dim <= kHeadDimMax &&
         config.heads / config.kv_heads <= kHeadsPerKvMax;
}

template <typename T>
T* Data(const torch::Tensor& t) {
  return t.defined() ? static_cast<T*>(t.data_ptr()) : nullptr;
}

}  // namespace

std::unique_ptr<CudaModelRunner> CudaModelRunner::Make(const ModelConfig& config,
                                                       const Weights& weights,
                                                       const RopeTable& rope,
                                                       const ModelRunnerOptions& options) {
  const CudaKernels* kernels = KernelsFor(weights.device());
  if (kernels == nullptr || !Fits(config)) return nullptr;
  torch::NoGradGuard no_grad;
  std::unique_ptr<CudaModelRunner> runner(
      new CudaModelRunner(config, weights, rope, options, kernels));
  // Kernels that can not be launched on this device must be known before sequences depend on them.
  runner->PrepareMetadata({}, 1);
  if (!runner->Compute(1)) return nullptr;
  WaitForDevice(weights.device());  // The next step writes what this one reads.
  return runner;
}

CudaModelRunner::CudaModelRunner(const ModelConfig& config, const Weights& weights,
                                 const RopeTable& rope, const ModelRunnerOptions& options,
                                 const CudaKernels* kernels)
    : config_(config),
      weights_(weights),
      rope_(rope),
      options_(options),
      kernels_(kernels),
      shape_{.heads = static_cast<int32_t>(config.heads),
             .kv_heads = static_cast<int32_t>(config.kv_heads),
             .head_dim = static_cast<int32_t>(config.head_dim),
             .type = NumberTypeOf(weights.dtype())},
      slot_capacity_(RoundUp(options.suffix_tokens, kKvTile)),
      splits_max_(Splits(options.prefix_tokens) + Splits(options.suffix_tokens)),
      work_(config, static_cast<int64_t>(torch::elementSize(weights.dtype()))),
      graph_runner_(weights.device(), options.graphs) {
  const torch::Device device = weights.device();
  const auto on_device = [&](torch::ScalarType type) { return torch::dtype(type).device(device); };
  const int64_t n = options.slots;
  slots_ = torch::zeros({n + 1, config.layers, 2, config.kv_heads, slot_capacity_, config.head_dim},
                        on_device(weights.dtype()));

  const int64_t segments_at = n * static_cast<int64_t>(sizeof(DecodeToken));
  const int64_t ids_at = segments_at + 2 * n * static_cast<int64_t>(sizeof(KvSegment));
  const int64_t bytes = ids_at + n * static_cast<int64_t>(sizeof(int64_t));
  const auto on_host = [&](torch::ScalarType type) {
    return torch::dtype(type).pinned_memory(device.is_cuda());
  };
  host_metadata_ = torch::empty({bytes}, on_host(torch::kByte));
  metadata_ = torch::empty({bytes}, on_device(torch::kByte));
  uint8_t* const host = Data<uint8_t>(host_metadata_);
  host_tokens_ = reinterpret_cast<DecodeToken*>(host);
  host_segments_ = reinterpret_cast<KvSegment*>(host + segments_at);
  host_ids_ = reinterpret_cast<int64_t*>(host + ids_at);
  uint8_t* const there = Data<uint8_t>(metadata_);
  tokens_ = reinterpret_cast<const DecodeToken*>(there);
  segments_ = reinterpret_cast<const KvSegment*>(there + segments_at);
  ids_ = metadata_.narrow(0, ids_at, n * static_cast<int64_t>(sizeof(int64_t))).view(torch::kLong);

  split_out_ =
      torch::empty({n, config.heads, splits_max_, config.head_dim}, on_device(torch::kFloat));
  scales_ = torch::empty({n, config.heads, splits_max_, 2}, on_device(torch::kFloat));
  if (options.draw) {
    const int64_t vocab_blocks = (config.vocab + kVocabBlockTokens - 1) / kVocabBlockTokens;
    vocab_blocks_ = torch::empty({n * vocab_blocks * static_cast<int64_t>(sizeof(VocabBlock))},
                                 on_device(torch::kByte));
    results_ = torch::empty({2, n}, on_device(torch::kInt));
    host_results_ = torch::empty({2, n}, on_host(torch::kInt));
  } else {
    logits_ = torch::empty({n, config.vocab}, on_device(torch::kFloat));
  }
}

torch::Tensor CudaModelRunner::Prefill(int32_t prefix, const std::vector<int32_t>& ids) {
  return PrefillLogits(
      config_, weights_, rope_, work_, ids,
      [&](int64_t layer, const torch::Tensor& qkv) { return AttendPrompt(prefix, layer, qkv); });
}

// Does what KvCache::Prefill does.
torch::Tensor CudaModelRunner::AttendPrompt(int32_t prefix, int64_t layer,
                                            const torch::Tensor& wide) {
  const torch::Tensor qkv = wide.to(weights_.dtype()).transpose(0, 1);  // [H + 2K, n, D]
  const int64_t n = qkv.size(1), kv = config_.kv_heads;
  Prefix& stored = prefixes_[prefix];
  if (layer == 0) {
    stored.tokens = n;
    stored.kv =
        torch::zeros({config_.layers, 2, kv, RoundUp(n, kKvTile), config_.head_dim}, qkv.options());
  }
  const torch::Tensor q = qkv.narrow(0, 0, config_.heads);
  const torch::Tensor k = qkv.narrow(0, config_.heads, kv);
  const torch::Tensor v = qkv.narrow(0, config_.heads + kv, kv);
  stored.kv[layer][0].narrow(1, 0, n).copy_(k);
  stored.kv[layer][1].narrow(1, 0, n).copy_(v);
  const torch::Tensor out = at::scaled_dot_product_attention(
      q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), /*attn_mask=*/{}, /*dropout_p=*/0.0,
      /*is_causal=*/true, /*scale=*/std::nullopt, /*enable_gqa=*/config_.heads != kv);
  return out.squeeze(0).transpose(0, 1).reshape({n, config_.heads * config_.head_dim});
}

int64_t CudaModelRunner::Bucket(int64_t rows) const {
  int64_t bucket = 1;
  while (bucket < rows) bucket *= 2;
  return std::min(bucket, options_.slots);
}

// Writes what `bucket` rows, of which the first are those of `inputs`, read, and sends it off.
void CudaModelRunner::PrepareMetadata(const std::vector<DecodeInput>& inputs, int64_t bucket) {
  const int64_t slot_bytes = slots_[0].numel() * slots_.element_size();
  const auto slot_at = [&](int64_t slot) { return Data<uint8_t>(slots_) + slot * slot_bytes; };
  const int32_t capacity = static_cast<int32_t>(slot_capacity_);
  const int64_t real = static_cast<int64_t>(inputs.size());
  std::memset(Data<uint8_t>(host_metadata_), 0, static_cast<size_t>(host_metadata_.numel()));
  KvSegment* segment = host_segments_;
  const int64_t run_max = QueriesMax(shape_.type) / (shape_.heads / shape_.kv_heads);
  for (int64_t i = 0; i < bucket; ++i) {
    // A row that is none attends to one token of the slot that is no sequence's.
    const DecodeInput row =
        i < real ? inputs[static_cast<size_t>(i)]
                 : DecodeInput{.prefix = -1, .slot = static_cast<int32_t>(options_.slots)};
    int64_t prefix_splits = 0;
    if (i < real) {
      const Prefix& prefix = prefixes_.at(row.prefix);
      prefix_splits = Splits(prefix.tokens);
      const bool joins = i > 0 && inputs[static_cast<size_t>(i - 1)].prefix == row.prefix &&
                         (segment - 1)->rows < run_max;
      if (joins) {
        ++(segment - 1)->rows;
      } else {
        *segment++ = {.base = prefix.kv.const_data_ptr(),
                      .capacity = static_cast<int32_t>(prefix.kv.size(3)),
                      .tokens = static_cast<int32_t>(prefix.tokens),
                      .first_row = static_cast<int32_t>(i),
                      .rows = 1,
                      .first_split = 0};
      }
    }
    host_tokens_[i] = {.slot = slot_at(row.slot),
                       .capacity = capacity,
                       .suffix = static_cast<int32_t>(row.suffix),
                       .position = static_cast<int32_t>(row.position()),
                       .splits = static_cast<int32_t>(prefix_splits + Splits(row.suffix + 1)),
                       .group_index = static_cast<uint64_t>(row.next.group_index),
                       .sample = static_cast<uint64_t>(row.next.sample),
                       .draw = static_cast<uint64_t>(row.next.position)};
    host_ids_[i] = row.token;
  }
  for (int64_t i = 0; i < bucket; ++i) {
    const DecodeToken& token = host_tokens_[i];
    *segment++ = {.base = token.slot,
                  .capacity = capacity,
                  .tokens = token.suffix + 1,
                  .first_row = static_cast<int32_t>(i),
                  .rows = 1,
                  .first_split = token.splits - static_cast<int32_t>(Splits(token.suffix + 1))};
  }
  metadata_.copy_(host_metadata_, /*non_blocking=*/true);
}

// Queues the step. Returns false if a kernel could not be launched.
bool CudaModelRunner::Compute(int64_t bucket) {
  const torch::Tensor x =
      weights_.embed.index_select(0, ids_.narrow(0, 0, bucket)).to(torch::kFloat);
  const torch::Tensor attended =
      torch::empty({bucket, config_.heads * config_.head_dim}, weights_.embed.options());
  torch::Tensor delta;
  for (size_t i = 0; i < weights_.layers.size(); ++i) {
    const LayerWeights& layer = weights_.layers[i];
    const torch::Tensor qkv =
        Linear(RmsNorm(x, delta, layer.input_norm, config_.rms_eps), layer.qkv);
    if (!Attend(static_cast<int64_t>(i), qkv, attended)) return false;
    delta = Linear(attended, layer.o);
    const torch::Tensor gate_up =
        Linear(RmsNorm(x, delta, layer.post_norm, config_.rms_eps), layer.gate_up);
    delta = Linear(SiluMul(gate_up, weights_.dtype()), layer.down);
  }
  const torch::Tensor logits =
      Linear(RmsNorm(x, delta, weights_.final_norm, config_.rms_eps), weights_.lm_head);
  if (options_.draw) return Draw(logits);
  logits_.narrow(0, 0, bucket).copy_(logits);
  return true;
}

bool CudaModelRunner::Attend(int64_t layer, const torch::Tensor& qkv, const torch::Tensor& out) {
  const LayerWeights& w = weights_.layers[static_cast<size_t>(layer)];
  const LaunchStream stream(qkv.device());
  const int64_t rows = qkv.size(0);
  const torch::Tensor q = torch::empty_like(out);
  const RotateStoreArgs rotate = {.qkv = Data<float>(qkv),
                                  .bias = Data<void>(w.qkv_bias),
                                  .q_norm = Data<void>(w.q_norm),
                                  .k_norm = Data<void>(w.k_norm),
                                  .eps = static_cast<float>(config_.rms_eps),
                                  .cos = Data<float>(rope_.cos),
                                  .sin = Data<float>(rope_.sin),
                                  .tokens = tokens_,
                                  .q = q.data_ptr(),
                                  .rows = rows,
                                  .layer = static_cast<int32_t>(layer),
                                  .shape = shape_};
  const AttendSplitsArgs attend = {
      .q = q.data_ptr(),
      .segments = segments_,
      .segments_count = static_cast<int32_t>(2 * rows),
      .tokens_max = static_cast<int32_t>(std::max(options_.prefix_tokens, options_.suffix_tokens)),
      .layer = static_cast<int32_t>(layer),
      .split_out = Data<float>(split_out_),
      .scales = Data<float>(scales_),
      .splits_max = static_cast<int32_t>(splits_max_),
      .shape = shape_};
  const MergeSplitsArgs merge = {.split_out = Data<float>(split_out_),
                                 .scales = Data<float>(scales_),
                                 .tokens = tokens_,
                                 .out = out.data_ptr(),
                                 .rows = rows,
                                 .splits_max = static_cast<int32_t>(splits_max_),
                                 .shape = shape_};
  return Launched("rotate_store", kernels_->rotate_store(rotate, stream.handle())) &&
         Launched("attend_splits", kernels_->attend_splits(attend, stream.handle())) &&
         Launched("merge_splits", kernels_->merge_splits(merge, stream.handle()));
}

bool CudaModelRunner::Draw(const torch::Tensor& logits) {
  int32_t* const results = Data<int32_t>(results_);
  const SampleArgs args = {
      .logits = Data<float>(logits),
      .tokens = tokens_,
      .seed = options_.seed,
      .step = options_.step,
      .scale = options_.temperature > 0 ? static_cast<float>(1.0 / options_.temperature) : 0.0f,
      .vocab_blocks = reinterpret_cast<VocabBlock*>(vocab_blocks_.data_ptr()),
      .ids = results,
      .logprobs = reinterpret_cast<float*>(results + options_.slots),
      .rows = logits.size(0),
      .vocab = config_.vocab};
  return Launched("sample", kernels_->sample(args, LaunchStream(logits.device()).handle()));
}

Work CudaModelRunner::StepWork(const std::vector<DecodeInput>& inputs) const {
  int64_t pairs = 0, read = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DecodeInput& input = inputs[i];
    const bool shares = i > 0 && inputs[i - 1].prefix == input.prefix;
    pairs += input.position() + 1;
    read += input.suffix + 1 + (shares ? 0 : input.prefix_tokens);
  }
  Work work = work_.DecodeMatmul(static_cast<int64_t>(inputs.size()));
  const Work attention = work_.LayerAttention(pairs, read);
  work.flops += static_cast<double>(config_.layers) * attention.flops;
  work.bytes += static_cast<double>(config_.layers) * attention.bytes;
  return work;
}

absl::StatusOr<std::vector<SampledToken>> CudaModelRunner::Step(
    const std::vector<DecodeInput>& inputs, LogitsFn on_logits) {
  torch::NoGradGuard no_grad;
  const int64_t rows = static_cast<int64_t>(inputs.size());
  const Work work = StepWork(inputs);
  const PartScope scope(Part::kDecodeStep, work.flops, work.bytes);
  const int64_t bucket = Bucket(rows);
  PrepareMetadata(inputs, bucket);
  bool launched = true;
  graph_runner_.Run(bucket, [&] { launched = Compute(bucket); });
  if (!launched) {
    return absl::InternalError(
        "a kernel of the decoding step could not be launched (the log says why); generate again: "
        "LibTorch's operators do the work now");
  }
  if (options_.draw) return FetchDrawn(rows);
  for (int64_t first = 0; first < rows; first += kLogitRows) {
    const int64_t count = std::min(kLogitRows, rows - first);
    const torch::Tensor logits = logits_.narrow(0, first, count).cpu();
    on_logits(static_cast<size_t>(first), static_cast<size_t>(first + count),
              logits.const_data_ptr<float>());
  }
  return std::vector<SampledToken>();
}

// Waits for the step and brings its tokens to the host.
std::vector<SampledToken> CudaModelRunner::FetchDrawn(int64_t rows) {
  host_results_.copy_(results_, /*non_blocking=*/true);
  WaitForDevice(weights_.device());
  const int32_t* const ids = Data<int32_t>(host_results_);
  std::vector<SampledToken> drawn;
  for (int64_t i = 0; i < rows; ++i) {
    SampledToken token{.id = ids[i]};
    std::memcpy(&token.logprob, ids + options_.slots + i, sizeof(float));
    drawn.push_back(token);
  }
  return drawn;
}

}  // namespace whetstone
