#include "gpu_trainer/engine/runner/generation_work.h"

namespace whetstone {
namespace {

double LayerParameters(const ModelConfig& c) {
  return static_cast<double>(c.hidden) *
         static_cast<double>(c.qkv_rows() + c.heads * c.head_dim + 3 * c.intermediate);
}

}  // namespace

GenerationWork::GenerationWork(const ModelConfig& config, int64_t number_bytes)
    : layers_(static_cast<double>(config.layers)),
      layer_parameters_(LayerParameters(config)),
      head_parameters_(static_cast<double>(config.vocab * config.hidden)),
      query_width_(static_cast<double>(config.heads * config.head_dim)),
      key_width_(static_cast<double>(config.kv_heads * config.head_dim)),
      number_bytes_(static_cast<double>(number_bytes)) {}

Work GenerationWork::Prefill(int64_t tokens) const {
  const double n = static_cast<double>(tokens);
  // Each token attends to itself and all before it.
  const Work attention = LayerAttention(tokens * (tokens + 1) / 2, tokens);
  return {
      2 * n * layers_ * layer_parameters_ + 2 * head_parameters_ + layers_ * attention.flops,
      number_bytes_ * (layers_ * layer_parameters_ + head_parameters_) + layers_ * attention.bytes};
}

Work GenerationWork::DecodeMatmul(int64_t rows) const {
  const double parameters = layers_ * layer_parameters_ + head_parameters_;
  return {2 * static_cast<double>(rows) * parameters, number_bytes_ * parameters};
}

Work GenerationWork::LayerAttention(int64_t pairs, int64_t tokens_read) const {
  // The products with keys and with values take 2 operations a number each.
  return {4 * query_width_ * static_cast<double>(pairs),
          2 * number_bytes_ * key_width_ * static_cast<double>(tokens_read)};
}

}  // namespace whetstone
