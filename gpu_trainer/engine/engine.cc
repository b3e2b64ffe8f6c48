#include "gpu_trainer/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/philox.h"
#include "common/status_macros.h"
#include "gpu_trainer/engine/kv_cache.h"
#include "gpu_trainer/engine/sequence.h"
#include "gpu_trainer/model/forward.h"
#include "gpu_trainer/ops/attention_avx512.h"
#include "gpu_trainer/ops/linear.h"
#include "gpu_trainer/ops/parallel.h"
#include "gpu_trainer/ops/sample.h"

namespace whetstone {
namespace {

// Rows whose logits exist at one time.
constexpr int64_t kLogitRows = 32;

absl::Status CheckIds(const std::vector<int32_t>& ids, const ModelConfig& config) {
  if (ids.empty()) return absl::InvalidArgumentError("a prompt without tokens");
  for (const int32_t id : ids) {
    if (id < 0 || id >= config.vocab) {
      return absl::InvalidArgumentError(
          absl::StrCat("token id ", id, " is not in the vocabulary of ", config.vocab));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSpec(const GenerateSpec& spec, const ModelConfig& config) {
  const SamplingSpec& s = spec.sampling;
  if (s.max_new_tokens < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_new_tokens is ", s.max_new_tokens, "; at least 1 is needed"));
  }
  if (!(s.temperature >= 0) || !std::isfinite(s.temperature)) {
    return absl::InvalidArgumentError(
        absl::StrCat("temperature is ", s.temperature, "; 0 (greedy) or more is needed"));
  }
  if (!(s.top_p > 0 && s.top_p <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("top_p is ", s.top_p, "; more than 0 and at most 1 is needed"));
  }
  if (s.top_k < 0) {
    return absl::InvalidArgumentError(absl::StrCat("top_k is ", s.top_k, "; 0 means off"));
  }
  for (const PromptGroupSpec& group : spec.groups) {
    absl::Status status = CheckIds(group.ids, config);
    const int64_t tokens = static_cast<int64_t>(group.ids.size());
    if (status.ok() && tokens >= config.context) {
      status = absl::InvalidArgumentError(absl::StrCat("a prompt of ", tokens,
                                                       " tokens leaves no room in a context of ",
                                                       config.context, "; shorten the prompt"));
    }
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("problem ", group.problem, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

torch::Tensor IdTensor(const std::vector<int64_t>& ids, torch::Device device) {
  return torch::tensor(ids, torch::kLong).to(device);
}

// One Generate call.
class Run {
 public:
  Run(const ModelConfig& config, const Weights& weights, const Tokenizer& tokenizer,
      const RopeTable& rope, const EngineOptions& options, const GenerateSpec& spec,
      const GenerateSink& sink)
      : config_(config),
        weights_(weights),
        rope_(rope),
        spec_(spec),
        sink_(sink),
        rules_{spec.sampling, tokenizer, {}},
        settings_{spec.sampling.temperature, spec.sampling.top_k, spec.sampling.top_p},
        groups_(spec.groups.size()) {
    if (!spec.sampling.ignore_eos) {
      rules_.stop_ids.insert(config.eos_ids.begin(), config.eos_ids.end());
      rules_.stop_ids.insert(spec.stop_ids.begin(), spec.stop_ids.end());
    }
    PlanMemory(options);
  }

  // The main loop: admit what fits, then one token for every admitted sequence.
  absl::Status Go() {
    torch::NoGradGuard no_grad;
    while (true) {
      if (sink_.cancelled && sink_.cancelled()) {
        return absl::CancelledError("generation was cancelled");
      }
      RETURN_IF_ERROR(Admit());
      Report();
      if (active_.empty()) return absl::OkStatus();
      RETURN_IF_ERROR(Step());
    }
  }

 private:
  struct Waiting {
    size_t group;
    int32_t sample;
  };
  struct Group {
    torch::Tensor logits;  // [1, V] f32 after the prompt; undefined before its prefill
    int32_t unfinished = 0;
  };

  int64_t PromptTokens(size_t group) const {
    return static_cast<int64_t>(spec_.groups[group].ids.size());
  }
  int64_t TokensMax(size_t group) const {
    return std::min<int64_t>(spec_.sampling.max_new_tokens, config_.context - PromptTokens(group));
  }

  // Queues every sequence and chooses how many may decode together.
  void PlanMemory(const EngineOptions& options) {
    int64_t suffix = 1, bytes_per_sequence = 0;
    for (size_t g = 0; g < spec_.groups.size(); ++g) {
      suffix = std::max(suffix, TokensMax(g));
      for (const int32_t sample : spec_.groups[g].samples) waiting_.push_back({g, sample});
      groups_[g].unfinished = static_cast<int32_t>(spec_.groups[g].samples.size());
      // A prompt's share of one of its samples.
      const int64_t share = KvBytes(config_, weights_.dtype(), PromptTokens(g)) /
                            std::max<int64_t>(1, groups_[g].unfinished);
      bytes_per_sequence = std::max(bytes_per_sequence, share);
    }
    // A slot may hold a block of the prompt besides.
    bytes_per_sequence += KvBytes(config_, weights_.dtype(), suffix + kPackedBlock - 1);
    const int64_t fitting = std::max<int64_t>(1, options.kv_bytes_max / bytes_per_sequence);
    const int64_t slots =
        std::min({fitting, int64_t{options.sequences_max}, static_cast<int64_t>(waiting_.size())});
    for (int64_t slot = slots; slot-- > 0;) free_slots_.push_back(static_cast<int32_t>(slot));
    if (slots > 0) {
      cache_ = MakeKvCache(config_, weights_.dtype(), weights_.device(), slots, suffix);
    }
  }

  absl::Status Admit() {
    while (!waiting_.empty() && !free_slots_.empty()) {
      const Waiting next = waiting_.front();
      waiting_.pop_front();
      const PromptGroupSpec& spec = spec_.groups[next.group];
      Group& group = groups_[next.group];
      if (!group.logits.defined()) group.logits = Prefill(next.group);
      Sequence sequence;
      sequence.group = next.group;
      sequence.slot = free_slots_.back();
      sequence.tokens_max = TokensMax(next.group);
      sequence.result.problem = spec.problem;
      sequence.result.sample = next.sample;
      free_slots_.pop_back();
      const SampledToken token = Draw(group.logits.const_data_ptr<float>(), sequence);
      RETURN_IF_ERROR(CheckFinite(token));
      if (sequence.Take(token, rules_)) {
        Finish(&sequence);
      } else {
        active_.push_back(std::move(sequence));
      }
      ++status_.tokens;
    }
    return absl::OkStatus();
  }

  // Encodes a prompt once; returns the logits of its last token.
  torch::Tensor Prefill(size_t group) {
    const std::vector<int32_t>& ids = spec_.groups[group].ids;
    const int64_t n = PromptTokens(group);
    const torch::Tensor hidden =
        Forward(config_, weights_, IdTensor({ids.begin(), ids.end()}, weights_.device()),
                rope_.cos.narrow(0, 0, n), rope_.sin.narrow(0, 0, n),
                [&](int64_t layer, const torch::Tensor& qkv) {
                  return cache_->Prefill(static_cast<int32_t>(group), layer, qkv);
                });
    return Linear(hidden.narrow(0, n - 1, 1), weights_.lm_head).cpu();
  }

  // One token for every active sequence. Its newest token enters the cache here, not when sampled.
  absl::Status Step() {
    std::vector<int64_t> ids, positions;
    std::vector<DecodeRow> rows;
    for (const Sequence& sequence : active_) {
      const int64_t suffix = static_cast<int64_t>(sequence.result.ids.size()) - 1;
      ids.push_back(sequence.result.ids.back());
      positions.push_back(PromptTokens(sequence.group) + suffix);
      rows.push_back({static_cast<int32_t>(sequence.group), sequence.slot, suffix});
    }
    const torch::Tensor position = IdTensor(positions, weights_.device());
    const torch::Tensor hidden = Forward(
        config_, weights_, IdTensor(ids, weights_.device()), rope_.cos.index_select(0, position),
        rope_.sin.index_select(0, position),
        [&](int64_t layer, const torch::Tensor& qkv) { return cache_->Attend(layer, qkv, rows); });
    std::vector<SampledToken> tokens(active_.size());
    const int64_t n = static_cast<int64_t>(active_.size());
    for (int64_t begin = 0; begin < n; begin += kLogitRows) {
      const int64_t count = std::min(kLogitRows, n - begin);
      const torch::Tensor logits = Linear(hidden.narrow(0, begin, count), weights_.lm_head).cpu();
      const float* data = logits.const_data_ptr<float>();
      ParallelFor(count, [&](int64_t i) {
        const size_t row = static_cast<size_t>(begin + i);
        tokens[row] = Draw(data + i * config_.vocab, active_[row]);
      });
    }
    return Take(tokens);
  }

  absl::Status Take(const std::vector<SampledToken>& tokens) {
    std::vector<Sequence> still;
    still.reserve(active_.size());
    for (size_t i = 0; i < active_.size(); ++i) {
      RETURN_IF_ERROR(CheckFinite(tokens[i]));
      ++status_.tokens;
      if (active_[i].Take(tokens[i], rules_)) {
        Finish(&active_[i]);
      } else {
        still.push_back(std::move(active_[i]));
      }
    }
    active_ = std::move(still);
    return absl::OkStatus();
  }

  SampledToken Draw(const float* logits, const Sequence& sequence) const {
    Philox rng(spec_.seed,
               {static_cast<uint64_t>(spec_.step), static_cast<uint64_t>(sequence.result.problem),
                static_cast<uint64_t>(sequence.result.sample),
                static_cast<uint64_t>(sequence.result.ids.size())});
    return SampleToken(logits, config_.vocab, settings_, rng.Uniform());
  }

  static absl::Status CheckFinite(const SampledToken& token) {
    if (std::isfinite(token.logprob)) return absl::OkStatus();
    return absl::InternalError("the policy's logits are not finite: its weights are damaged");
  }

  void Finish(Sequence* sequence) {
    free_slots_.push_back(sequence->slot);
    Group& group = groups_[sequence->group];
    if (--group.unfinished == 0) {
      cache_->DropPrefix(static_cast<int32_t>(sequence->group));
      group.logits = torch::Tensor();
    }
    ++status_.completions;
    if (sink_.on_completion) sink_.on_completion(std::move(sequence->result));
  }

  void Report() {
    status_.active = static_cast<int32_t>(active_.size());
    if (sink_.on_progress) sink_.on_progress(status_);
  }

  const ModelConfig& config_;
  const Weights& weights_;
  const RopeTable& rope_;
  const GenerateSpec& spec_;
  const GenerateSink& sink_;
  StopRules rules_;
  const SampleSettings settings_;
  std::vector<Group> groups_;
  std::deque<Waiting> waiting_;
  std::vector<Sequence> active_;  // samples of one group are neighbours: they are queued so
  std::vector<int32_t> free_slots_;
  std::unique_ptr<KvCache> cache_;
  GenerateStatus status_;
};

}  // namespace

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
  return Run(config_, weights_, tokenizer_, rope_, options_, spec, sink).Go();
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
                                 /*suffix_tokens=*/1);
  const torch::Tensor hidden =
      Forward(config_, weights_, IdTensor({ids.begin(), ids.end()}, weights_.device()),
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
