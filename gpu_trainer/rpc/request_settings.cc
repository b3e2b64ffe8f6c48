#include "gpu_trainer/rpc/request_settings.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace whetstone {

StepSettings StepSettingsOf(const v1::OptimizerSettings& o) {
  return {.adamw = {.lr = o.lr(),
                    .beta1 = o.beta1(),
                    .beta2 = o.beta2(),
                    .eps = o.eps(),
                    .weight_decay = o.weight_decay()},
          .max_grad_norm = o.max_grad_norm(),
          .spike_factor = o.spike_factor(),
          .grad_norm_per_layer = o.grad_norm_per_layer()};
}

absl::StatusOr<ChatOptions> ChatOptionsOf(const v1::ChatSettings& settings) {
  ChatOptions options;
  options.date = settings.date();
  const std::string& thinking = settings.thinking();
  if (thinking.empty() || thinking == "auto") return options;
  if (thinking != "on" && thinking != "off") {
    return absl::InvalidArgumentError(
        absl::StrCat("chat.thinking is '", thinking, "'; valid: auto, on, off"));
  }
  options.thinking = thinking == "on";
  return options;
}

GenerateSpec GenerateSpecOf(const v1::GenerateRequest& request) {
  GenerateSpec spec;
  spec.seed = request.seed();
  spec.step = request.step();
  const v1::SamplingParams& s = request.sampling();
  spec.sampling = {
      .max_new_tokens = s.max_new_tokens(),
      .temperature = s.temperature(),
      .top_p = s.top_p(),
      .top_k = s.top_k(),
      .min_p = s.min_p(),
      .penalties = {.repetition = s.repetition_penalty() == 0 ? 1 : s.repetition_penalty(),
                    .presence = s.presence_penalty(),
                    .frequency = s.frequency_penalty()},
      .stop = {s.stop().begin(), s.stop().end()},
      .stop_ids = {s.stop_ids().begin(), s.stop_ids().end()},
      .ignore_eos = s.ignore_eos(),
      .deadline_s = s.deadline_s()};
  spec.deterministic = request.deterministic();
  spec.memory.kv_bytes_max = request.kv_mib_max() << 20;
  spec.memory.sequences_max = request.sequences_max();
  return spec;
}

}  // namespace whetstone
