#include "gpu_trainer/engine/device_decoder.h"

#include <algorithm>
#include <cstring>

#include "gpu_trainer/kernels/cuda/cuda_choice.h"
#include "gpu_trainer/kernels/elementwise.h"
#include "gpu_trainer/kernels/linear.h"

namespace whetstone {
namespace {

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
int64_t Parts(int64_t tokens) { return (tokens + kPartTokens - 1) / kPartTokens; }

bool Fits(const ModelConfig& config) {
  return config.head_dim % kKvTile == 0 && config.head_dim <= kHeadDimMax &&
         config.heads / config.kv_heads <= kHeadsPerKvMax;
}

template <typename T>
T* Data(const torch::Tensor& t) {
  return t.defined() ? static_cast<T*>(t.data_ptr()) : nullptr;
}

}  // namespace

std::unique_ptr<DeviceDecoder> DeviceDecoder::Make(const ModelConfig& config,
                                                   const Weights& weights, const RopeTable& rope,
                                                   const DeviceDecoderOptions& options) {
  const CudaKernels* kernels = KernelsFor(weights.device());
  if (kernels == nullptr || !Fits(config)) return nullptr;
  torch::NoGradGuard no_grad;
  std::unique_ptr<DeviceDecoder> decoder(
      new DeviceDecoder(config, weights, rope, options, kernels));
  // Kernels that can not be launched on this device must be known before sequences depend on them.
  decoder->Describe({}, 1);
  if (!decoder->Compute(1)) return nullptr;
  WaitForDevice(weights.device());  // the next step writes what this one reads
  return decoder;
}

DeviceDecoder::DeviceDecoder(const ModelConfig& config, const Weights& weights,
                             const RopeTable& rope, const DeviceDecoderOptions& options,
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
      parts_max_(Parts(options.prefix_tokens) + Parts(options.suffix_tokens)),
      runner_(weights.device(), options.graphs) {
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
  host_ = torch::empty({bytes}, on_host(torch::kByte));
  device_ = torch::empty({bytes}, on_device(torch::kByte));
  uint8_t* const host = Data<uint8_t>(host_);
  host_tokens_ = reinterpret_cast<DecodeToken*>(host);
  host_segments_ = reinterpret_cast<KvSegment*>(host + segments_at);
  host_ids_ = reinterpret_cast<int64_t*>(host + ids_at);
  uint8_t* const there = Data<uint8_t>(device_);
  tokens_ = reinterpret_cast<const DecodeToken*>(there);
  segments_ = reinterpret_cast<const KvSegment*>(there + segments_at);
  ids_ = device_.narrow(0, ids_at, n * static_cast<int64_t>(sizeof(int64_t))).view(torch::kLong);

  parts_ = torch::empty({n, config.heads, parts_max_, config.head_dim}, on_device(torch::kFloat));
  scales_ = torch::empty({n, config.heads, parts_max_, 2}, on_device(torch::kFloat));
  if (options.sample) {
    const int64_t stretches = (config.vocab + kStretchTokens - 1) / kStretchTokens;
    stretches_ = torch::empty({n * stretches * static_cast<int64_t>(sizeof(Stretch))},
                              on_device(torch::kByte));
    results_ = torch::empty({2, n}, on_device(torch::kInt));
    host_results_ = torch::empty({2, n}, on_host(torch::kInt));
  } else {
    logits_ = torch::empty({n, config.vocab}, on_device(torch::kFloat));
  }
}

torch::Tensor DeviceDecoder::Prefill(int32_t prefix, int64_t layer, const torch::Tensor& wide) {
  torch::NoGradGuard no_grad;
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

int64_t DeviceDecoder::Bucket(int64_t rows) const {
  int64_t bucket = 1;
  while (bucket < rows) bucket *= 2;
  return std::min(bucket, options_.slots);
}

// Writes what `bucket` rows, of which the first are `rows`, read, and sends it off.
void DeviceDecoder::Describe(const std::vector<DeviceRow>& rows, int64_t bucket) {
  const int64_t slot_bytes = slots_[0].numel() * slots_.element_size();
  const auto slot_at = [&](int64_t slot) { return Data<uint8_t>(slots_) + slot * slot_bytes; };
  const int32_t capacity = static_cast<int32_t>(slot_capacity_);
  const int64_t real = static_cast<int64_t>(rows.size());
  std::memset(Data<uint8_t>(host_), 0, static_cast<size_t>(host_.numel()));
  KvSegment* segment = host_segments_;
  const int64_t run_max = QueriesMax(shape_.type) / (shape_.heads / shape_.kv_heads);
  for (int64_t i = 0; i < bucket; ++i) {
    // A row that is none attends to one token of the slot that is no sequence's.
    const DeviceRow row =
        i < real ? rows[static_cast<size_t>(i)]
                 : DeviceRow{.prefix = -1, .slot = static_cast<int32_t>(options_.slots)};
    int64_t prefix_parts = 0;
    if (i < real) {
      const Prefix& prefix = prefixes_.at(row.prefix);
      prefix_parts = Parts(prefix.tokens);
      const bool joins = i > 0 && rows[static_cast<size_t>(i - 1)].prefix == row.prefix &&
                         (segment - 1)->rows < run_max;
      if (joins) {
        ++(segment - 1)->rows;
      } else {
        *segment++ = {.base = prefix.kv.const_data_ptr(),
                      .capacity = static_cast<int32_t>(prefix.kv.size(3)),
                      .tokens = static_cast<int32_t>(prefix.tokens),
                      .first_row = static_cast<int32_t>(i),
                      .rows = 1,
                      .first_part = 0};
      }
    }
    host_tokens_[i] = {.slot = slot_at(row.slot),
                       .capacity = capacity,
                       .suffix = static_cast<int32_t>(row.suffix),
                       .position = static_cast<int32_t>(row.position),
                       .parts = static_cast<int32_t>(prefix_parts + Parts(row.suffix + 1)),
                       .problem = static_cast<uint64_t>(row.problem),
                       .sample = static_cast<uint64_t>(row.sample),
                       .draw = row.draw};
    host_ids_[i] = row.token;
  }
  for (int64_t i = 0; i < bucket; ++i) {
    const DecodeToken& token = host_tokens_[i];
    *segment++ = {.base = token.slot,
                  .capacity = capacity,
                  .tokens = token.suffix + 1,
                  .first_row = static_cast<int32_t>(i),
                  .rows = 1,
                  .first_part = token.parts - static_cast<int32_t>(Parts(token.suffix + 1))};
  }
  device_.copy_(host_, /*non_blocking=*/true);
}

// Queues the step. False: a kernel could not be launched.
bool DeviceDecoder::Compute(int64_t bucket) {
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
  if (options_.sample) return Draw(logits);
  logits_.narrow(0, 0, bucket).copy_(logits);
  return true;
}

bool DeviceDecoder::Attend(int64_t layer, const torch::Tensor& qkv, const torch::Tensor& out) {
  const LayerWeights& w = weights_.layers[static_cast<size_t>(layer)];
  const CudaStreamHandle stream = StreamOf(qkv.device());
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
  const AttendPartsArgs attend = {
      .q = q.data_ptr(),
      .segments = segments_,
      .segments_count = static_cast<int32_t>(2 * rows),
      .tokens_max = static_cast<int32_t>(std::max(options_.prefix_tokens, options_.suffix_tokens)),
      .layer = static_cast<int32_t>(layer),
      .parts = Data<float>(parts_),
      .scales = Data<float>(scales_),
      .parts_max = static_cast<int32_t>(parts_max_),
      .shape = shape_};
  const MergePartsArgs merge = {.parts = Data<float>(parts_),
                                .scales = Data<float>(scales_),
                                .tokens = tokens_,
                                .out = out.data_ptr(),
                                .rows = rows,
                                .parts_max = static_cast<int32_t>(parts_max_),
                                .shape = shape_};
  return Launched("rotate_store", kernels_->rotate_store(rotate, stream)) &&
         Launched("attend_parts", kernels_->attend_parts(attend, stream)) &&
         Launched("merge_parts", kernels_->merge_parts(merge, stream));
}

bool DeviceDecoder::Draw(const torch::Tensor& logits) {
  int32_t* const results = Data<int32_t>(results_);
  const SampleArgs args = {
      .logits = Data<float>(logits),
      .tokens = tokens_,
      .seed = options_.seed,
      .step = options_.step,
      .scale = options_.temperature > 0 ? static_cast<float>(1.0 / options_.temperature) : 0.0f,
      .stretches = reinterpret_cast<Stretch*>(stretches_.data_ptr()),
      .ids = results,
      .logprobs = reinterpret_cast<float*>(results + options_.slots),
      .rows = logits.size(0),
      .vocab = config_.vocab};
  return Launched("sample", kernels_->sample(args, StreamOf(logits.device())));
}

absl::Status DeviceDecoder::Step(const std::vector<DeviceRow>& rows) {
  torch::NoGradGuard no_grad;
  const int64_t bucket = Bucket(static_cast<int64_t>(rows.size()));
  Describe(rows, bucket);
  bool launched = true;
  runner_.Run(bucket, [&] { launched = Compute(bucket); });
  if (!launched) {
    return absl::InternalError(
        "a kernel of the decoding step could not be launched (the log says why); generate again: "
        "LibTorch's operators do the work now");
  }
  drawn_.clear();
  if (!options_.sample) return absl::OkStatus();
  host_results_.copy_(results_, /*non_blocking=*/true);
  WaitForDevice(weights_.device());
  const int32_t* const ids = Data<int32_t>(host_results_);
  for (size_t i = 0; i < rows.size(); ++i) {
    SampledToken token{.id = ids[i]};
    std::memcpy(&token.logprob, ids + options_.slots + static_cast<int64_t>(i), sizeof(float));
    drawn_.push_back(token);
  }
  return absl::OkStatus();
}

}  // namespace whetstone
