#include "gpu_trainer/engine/engine.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/engine/cache/kv_cache.h"
#include "gpu_trainer/engine/generation_loop.h"
#include "gpu_trainer/engine/request/check_spec.h"
#include "gpu_trainer/engine/runner/model_runner.h"
#include "gpu_trainer/engine/sampling/token_sampler.h"
#include "gpu_trainer/engine/schedule/kv_plan.h"
#include "gpu_trainer/kernels/linear.h"
#include "gpu_trainer/kernels/parallel.h"
#include "gpu_trainer/kernels/sample.h"
#include "gpu_trainer/model/forward.h"

namespace whetstone {

Engine::Engine(const ModelConfig& config, const Weights& weights, const Tokenizer& tokenizer,
               const EngineOptions& options)
    : config_(config), weights_(weights), tokenizer_(tokenizer), options_(options) {}

void Engine::EnsureRope(int64_t positions) {
  if (rope_.cos.defined() && rope_.cos.size(0) >= positions) return;
  rope_ = MakeRopeTable(config_, positions, weights_.device());
}

absl::Status Engine::Generate(const GenerateSpec& spec, const GenerateSink& sink) {
  RETURN_IF_ERROR(CheckSpec(spec, config_));
  int64_t positions = 0;
  for (const PromptGroupSpec& group : spec.groups) {
    positions = std::max(positions, static_cast<int64_t>(group.ids.size()));
  }
  EnsureRope(std::min(config_.context, positions + spec.sampling.max_new_tokens));
  ASSIGN_OR_RETURN(const KvPlan plan, PlanKv(spec, config_, weights_.dtype(),
                                             KvBytesAllowed(spec.memory, weights_.device())));
  const TokenSampler sampler(spec.seed, spec.step, spec.sampling, config_.vocab);
  std::unique_ptr<ModelRunner> runner;
  if (plan.slots > 0) {
    runner = MakeModelRunner(config_, weights_, rope_,
                             {.slots = plan.slots,
                              .suffix_tokens = plan.suffix_tokens,
                              .prefix_tokens = plan.prefix_tokens,
                              .batch_invariant = spec.deterministic,
                              .draw = sampler.DrawsFromWholeSoftmax(),
                              .temperature = spec.sampling.temperature,
                              .seed = spec.seed,
                              .step = static_cast<uint64_t>(spec.step),
                              .graphs = options_.cuda_graphs});
  }
  const SteadyClock own_clock;
  return GenerationLoop({.spec = spec,
                         .sink = sink,
                         .config = config_,
                         .tokenizer = tokenizer_,
                         .sampler = sampler,
                         .clock = options_.clock != nullptr ? *options_.clock : own_clock,
                         .prompt_lookup = options_.prompt_lookup},
                        plan.slots, runner.get())
      .Run();
}

absl::StatusOr<std::vector<float>> Engine::Score(const std::vector<int32_t>& ids) {
  RETURN_IF_ERROR(CheckIds(ids, config_));
  const int64_t n = static_cast<int64_t>(ids.size());
  if (n > config_.context) {
    return absl::InvalidArgumentError(
        absl::StrCat(n, " tokens are more than the context of ", config_.context));
  }
  torch::NoGradGuard no_grad;
  EnsureRope(n);
  // Only the attention is wanted: every layer may overwrite the last one's keys and values.
  const auto cache = MakeKvCache(config_, weights_.dtype(), weights_.device(), /*slots=*/0,
                                 /*suffix_tokens=*/1, /*batch_invariant=*/false);
  const torch::Tensor hidden =
      Forward(config_, weights_, torch::tensor(ids, torch::kLong).to(weights_.device()),
              rope_.cos.narrow(0, 0, n), rope_.sin.narrow(0, 0, n),
              [&](int64_t, const torch::Tensor& qkv) { return cache->Prefill(0, 0, qkv); });
  std::vector<float> logprobs(static_cast<size_t>(n - 1));
  for (int64_t begin = 0; begin < n - 1; begin += kLogitRows) {
    const int64_t count = std::min(kLogitRows, n - 1 - begin);
    const torch::Tensor logits = Linear(hidden.narrow(0, begin, count), weights_.lm_head).cpu();
    const float* data = logits.const_data_ptr<float>();
    ParallelFor(count, [&](int64_t i) {
      const size_t at = static_cast<size_t>(begin + i);
      logprobs[at] = TokenLogprob(data + i * config_.vocab, config_.vocab, ids[at + 1]);
    });
  }
  return logprobs;
}

}  // namespace whetstone
