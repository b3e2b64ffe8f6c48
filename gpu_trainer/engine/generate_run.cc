#include "gpu_trainer/engine/generate_run.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/philox.h"
#include "common/status_macros.h"
#include "gpu_trainer/engine/device_decoder.h"
#include "gpu_trainer/engine/generation_work.h"
#include "gpu_trainer/engine/kv_cache.h"
#include "gpu_trainer/engine/prompt_lookup.h"
#include "gpu_trainer/engine/sequence.h"
#include "gpu_trainer/kernels/cpu/attention_avx512.h"
#include "gpu_trainer/kernels/linear.h"
#include "gpu_trainer/kernels/parallel.h"
#include "gpu_trainer/kernels/sample.h"
#include "gpu_trainer/model/forward.h"
#include "gpu_trainer/profile/device_memory.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {
namespace {

static_assert(kDecodeRows == kLogitRows);

torch::Tensor IdTensor(const std::vector<int64_t>& ids, torch::Device device) {
  return torch::tensor(ids, torch::kLong).to(device);
}

class Run {
 public:
  Run(const EngineParts& engine, const GenerateSpec& spec, const GenerateSink& sink)
      : engine_(engine),
        config_(engine.config),
        weights_(engine.weights),
        spec_(spec),
        sink_(sink),
        rules_{spec.sampling,
               engine.tokenizer,
               engine.options.clock != nullptr ? *engine.options.clock : own_clock_,
               {spec.sampling.stop_ids.begin(), spec.sampling.stop_ids.end()}},
        settings_{spec.sampling.temperature, spec.sampling.top_k, spec.sampling.top_p,
                  spec.sampling.min_p},
        independent_rows_(RowsAreIndependent(engine.weights.device(), engine.weights.dtype())),
        padded_(spec.deterministic && !independent_rows_),
        work_(engine.config, static_cast<int64_t>(torch::elementSize(engine.weights.dtype()))),
        groups_(spec.groups.size()) {
    if (!spec.sampling.ignore_eos) {
      rules_.stop_ids.insert(config_.eos_ids.begin(), config_.eos_ids.end());
      rules_.stop_ids.insert(spec.end_ids.begin(), spec.end_ids.end());
    }
  }

  // The main loop: admit what fits, then a step of every admitted sequence.
  absl::Status Go() {
    torch::NoGradGuard no_grad;
    RETURN_IF_ERROR(Queue());
    while (true) {
      if (sink_.cancelled && sink_.cancelled()) {
        return absl::CancelledError("generation was cancelled");
      }
      RETURN_IF_ERROR(Admit());
      Report();
      if (active_.empty()) return absl::OkStatus();
      RETURN_IF_ERROR(Step());
      RETURN_IF_ERROR(Take());
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
  // An active sequence's part in one step: rows for its newest token and for its draft.
  struct Lane {
    std::vector<int32_t> draft;
    size_t row = 0;
    std::vector<SampledToken> drawn;  // at least one
    int64_t rows() const { return static_cast<int64_t>(draft.size()) + 1; }
  };

  int64_t PromptTokens(size_t group) const {
    return static_cast<int64_t>(spec_.groups[group].ids.size());
  }
  int64_t TokensMax(size_t group) const {
    return std::min<int64_t>(spec_.sampling.max_new_tokens, config_.context - PromptTokens(group));
  }

  // Queues every sequence and chooses how many may decode together.
  absl::Status Queue() {
    int64_t suffix = 1, prompt = 0, share = 0;
    for (size_t g = 0; g < spec_.groups.size(); ++g) {
      suffix = std::max(suffix, TokensMax(g));
      prompt = std::max(prompt, PromptTokens(g));
      for (const int32_t sample : spec_.groups[g].samples) waiting_.push_back({g, sample});
      groups_[g].unfinished = static_cast<int32_t>(spec_.groups[g].samples.size());
      // A prompt's share of one of its samples.
      share = std::max(share, KvBytes(config_, weights_.dtype(), PromptTokens(g)) /
                                  std::max<int64_t>(1, groups_[g].unfinished));
    }
    if (waiting_.empty()) return absl::OkStatus();
    const GenerateMemory& memory = spec_.memory;
    const int64_t bytes =
        memory.kv_bytes_max > 0
            ? memory.kv_bytes_max
            : std::max<int64_t>(0, FreeTensorBytes(weights_.device()) - memory.reserved_bytes) / 2 /
                  memory.processes;
    // A slot may hold a block of the prompt besides.
    const int64_t slot = KvBytes(config_, weights_.dtype(), suffix + kPackedBlock - 1);
    const int64_t one = slot + KvBytes(config_, weights_.dtype(), prompt);
    if (one > bytes) {
      return absl::ResourceExhaustedError(absl::StrFormat(
          "keys and values of one sequence (a prompt of %d tokens and %d new ones) take %.1f MiB, "
          "and %.1f MiB are %s; lower max_new_tokens, shorten the prompt, or %s",
          prompt, suffix, static_cast<double>(one) / (1 << 20),
          static_cast<double>(bytes) / (1 << 20),
          memory.kv_bytes_max > 0 ? "allowed" : "half of what is free now",
          memory.kv_bytes_max > 0 ? "allow more" : "free memory"));
    }
    const int64_t asked = static_cast<int64_t>(waiting_.size());
    const int64_t slots = std::min({std::max<int64_t>(1, bytes / (slot + share)), asked,
                                    memory.sequences_max > 0 ? memory.sequences_max : asked});
    for (int64_t i = slots; i-- > 0;) free_slots_.push_back(static_cast<int32_t>(i));
    const bool whole_softmax = spec_.sampling.penalties.off() && settings_.top_p >= 1 &&
                               settings_.top_k == 0 && settings_.min_p == 0;
    if (!padded_) {
      decoder_ = DeviceDecoder::Make(config_, weights_, engine_.rope,
                                     {.slots = slots,
                                      .suffix_tokens = suffix,
                                      .prefix_tokens = prompt,
                                      .sample = whole_softmax,
                                      .temperature = settings_.temperature,
                                      .seed = spec_.seed,
                                      .step = static_cast<uint64_t>(spec_.step),
                                      .graphs = engine_.options.cuda_graphs});
    }
    if (decoder_ != nullptr) return absl::OkStatus();
    cache_ = MakeKvCache(config_, weights_.dtype(), weights_.device(), slots, suffix,
                         /*row_by_row=*/padded_);
    return absl::OkStatus();
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
      if (spec_.sampling.deadline_s > 0) sequence.begin = rules_.clock.Now();
      if (!spec_.sampling.penalties.off()) sequence.history.emplace(spec.ids);
      sequence.result.problem = spec.problem;
      sequence.result.sample = next.sample;
      free_slots_.pop_back();
      const SampledToken token = [&] {
        const PartScope scope(Part::kSampling, 0, LogitBytes(1));
        return Draw(group.logits.const_data_ptr<float>(), 0, &sequence);
      }();
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
    const Work work = work_.Prefill(n);
    const PartScope scope(Part::kPrefill, work.flops, work.bytes);
    const torch::Tensor hidden =
        Forward(config_, weights_, IdTensor({ids.begin(), ids.end()}, weights_.device()),
                engine_.rope.cos.narrow(0, 0, n), engine_.rope.sin.narrow(0, 0, n),
                [&](int64_t layer, const torch::Tensor& qkv) {
                  const int32_t prefix = static_cast<int32_t>(group);
                  return decoder_ != nullptr ? decoder_->Prefill(prefix, layer, qkv)
                                             : cache_->Prefill(prefix, layer, qkv);
                });
    return Linear(hidden.narrow(0, n - 1, 1), weights_.lm_head).cpu();
  }

  // Draws the next tokens of every active sequence into lanes_.
  absl::Status Step() {
    const std::chrono::nanoseconds begin = rules_.clock.Now();
    const int64_t sequences = static_cast<int64_t>(active_.size());
    lanes_.assign(active_.size(), Lane());
    if (decoder_ != nullptr) {
      RETURN_IF_ERROR(DecodeOnDevice());
    } else {
      if (engine_.options.prompt_lookup && independent_rows_) MakeDrafts();
      const size_t at_once = padded_ ? static_cast<size_t>(kDecodeRows) : active_.size();
      for (size_t i = 0; i < active_.size(); i += at_once) {
        Decode(i, std::min(active_.size(), i + at_once));
      }
    }
    ++status_.steps;
    DraftPolicy::Step step{
        .sequences = sequences,
        .rows = 0,
        .tested = 0,
        .accepted = 0,
        .seconds = std::chrono::duration<double>(rules_.clock.Now() - begin).count()};
    for (const Lane& lane : lanes_) {
      const int64_t drawn = static_cast<int64_t>(lane.drawn.size());
      step.rows += lane.rows();
      step.tested += std::min(drawn, lane.rows() - 1);
      step.accepted += drawn - 1;
    }
    status_.drafted += step.rows - sequences;
    status_.accepted += step.accepted;
    drafts_.Observe(step);
    return absl::OkStatus();
  }

  void MakeDrafts() {
    const int64_t longest = drafts_.DraftMax(static_cast<int64_t>(active_.size()));
    if (longest == 0) return;
    for (size_t i = 0; i < active_.size(); ++i) {
      const Sequence& sequence = active_[i];
      // Every row yields a token at most.
      const int64_t room = sequence.tokens_max - static_cast<int64_t>(sequence.result.ids.size());
      lanes_[i].draft = FindDraft(spec_.groups[sequence.group].ids, sequence.result.ids,
                                  std::min(longest, room - 1));
    }
  }

  // One step of all active sequences, without drafts.
  absl::Status DecodeOnDevice() {
    std::vector<DeviceRow> rows;
    for (const Sequence& sequence : active_) {
      const Completion& result = sequence.result;
      const int64_t suffix = static_cast<int64_t>(result.ids.size()) - 1;
      lanes_[rows.size()].row = rows.size();
      rows.push_back({.prefix = static_cast<int32_t>(sequence.group),
                      .slot = sequence.slot,
                      .suffix = suffix,
                      .position = PromptTokens(sequence.group) + suffix,
                      .token = result.ids.back(),
                      .problem = result.problem,
                      .sample = result.sample,
                      .draw = result.ids.size()});
    }
    const int64_t count = static_cast<int64_t>(rows.size());
    const Work matmul = work_.DecodeMatmul(count);
    const PartScope scope(Part::kDecodeMatmul, matmul.flops, matmul.bytes);
    RETURN_IF_ERROR(decoder_->Step(rows));
    status_.graph_steps = decoder_->graph_steps();
    if (!decoder_->drawn().empty()) {
      for (size_t i = 0; i < rows.size(); ++i) lanes_[i].drawn = {decoder_->drawn()[i]};
      return absl::OkStatus();
    }
    for (int64_t first = 0; first < count; first += kLogitRows) {
      const int64_t n = std::min(kLogitRows, count - first);
      DrawLanes(static_cast<size_t>(first), static_cast<size_t>(first + n),
                decoder_->logits().narrow(0, first, n).cpu());
    }
    return absl::OkStatus();
  }

  // One forward pass for active sequences [begin, end). A sequence's newest token enters the cache
  // here, not when sampled.
  void Decode(size_t begin, size_t end) {
    std::vector<int64_t> ids, positions;
    std::vector<DecodeRow> rows;
    int64_t pairs = 0, tokens_read = 0;  // of one layer's attention
    for (size_t i = begin; i < end; ++i) {
      const Sequence& sequence = active_[i];
      const int64_t suffix = static_cast<int64_t>(sequence.result.ids.size()) - 1;
      lanes_[i].row = rows.size();
      ids.push_back(sequence.result.ids.back());
      ids.insert(ids.end(), lanes_[i].draft.begin(), lanes_[i].draft.end());
      tokens_read += suffix + lanes_[i].rows();
      if (i == begin || active_[i - 1].group != sequence.group) {
        tokens_read += PromptTokens(sequence.group);
      }
      for (int64_t j = 0; j < lanes_[i].rows(); ++j) {
        positions.push_back(PromptTokens(sequence.group) + suffix + j);
        pairs += positions.back() + 1;
        rows.push_back({static_cast<int32_t>(sequence.group), sequence.slot, suffix + j});
      }
    }
    const int64_t real = static_cast<int64_t>(rows.size());
    const Work attention = work_.LayerAttention(pairs, tokens_read);
    const Work matmul = work_.DecodeMatmul(real);
    const PartScope scope(Part::kDecodeMatmul, matmul.flops, matmul.bytes);
    const int64_t padding = padded_ ? kDecodeRows - real : 0;
    ids.resize(static_cast<size_t>(real + padding), 0);
    positions.resize(ids.size(), 0);
    const torch::Tensor position = IdTensor(positions, weights_.device());
    const torch::Tensor hidden = Forward(
        config_, weights_, IdTensor(ids, weights_.device()),
        engine_.rope.cos.index_select(0, position), engine_.rope.sin.index_select(0, position),
        [&](int64_t layer, const torch::Tensor& qkv) {
          const PartScope attending(Part::kDecodeAttention, attention.flops, attention.bytes);
          const torch::Tensor out = cache_->Attend(layer, qkv.narrow(0, 0, real), rows);
          return padding > 0 ? at::constant_pad_nd(out, {0, 0, 0, padding}) : out;
        });
    for (size_t i = begin; i < end;) {
      // As many sequences as have kLogitRows rows together.
      const size_t first = i;
      int64_t count = 0;
      while (i < end && (i == first || count + lanes_[i].rows() <= kLogitRows)) {
        count += lanes_[i++].rows();
      }
      const int64_t row = static_cast<int64_t>(lanes_[first].row);
      DrawLanes(first, i, Linear(hidden.narrow(0, row, count + padding), weights_.lm_head).cpu());
    }
  }

  // logits: those of lanes [begin, end), perhaps more.
  void DrawLanes(size_t begin, size_t end, const torch::Tensor& logits) {
    const float* data = logits.const_data_ptr<float>();
    const size_t first_row = lanes_[begin].row;
    const int64_t rows =
        static_cast<int64_t>(lanes_[end - 1].row - first_row) + lanes_[end - 1].rows();
    const PartScope sampling(Part::kSampling, 0, LogitBytes(rows));
    ParallelFor(static_cast<int64_t>(end - begin), [&](int64_t k) {
      const size_t lane = begin + static_cast<size_t>(k);
      DrawLane(data + static_cast<int64_t>(lanes_[lane].row - first_row) * config_.vocab, lane);
    });
  }

  // logits [rows of the lane, V]. Row j's are those after the first j drafted tokens, so they are
  // of use as long as the tokens drawn are the drafted ones.
  void DrawLane(const float* logits, size_t i) {
    Lane& lane = lanes_[i];
    for (size_t j = 0; j <= lane.draft.size(); ++j) {
      lane.drawn.push_back(Draw(logits + static_cast<int64_t>(j) * config_.vocab, j, &active_[i]));
      if (j < lane.draft.size() && lane.drawn.back().id != lane.draft[j]) return;
    }
  }

  double LogitBytes(int64_t rows) const { return 4.0 * static_cast<double>(rows * config_.vocab); }

  // The token `ahead` of the sequence's next one.
  SampledToken Draw(const float* logits, size_t ahead, Sequence* sequence) const {
    const Completion& result = sequence->result;
    Philox rng(spec_.seed,
               {static_cast<uint64_t>(spec_.step), static_cast<uint64_t>(result.problem),
                static_cast<uint64_t>(result.sample), result.ids.size() + ahead});
    if (!sequence->history) return SampleToken(logits, config_.vocab, settings_, rng.Uniform());
    std::vector<float> penalized(logits, logits + config_.vocab);
    sequence->history->Penalize(spec_.sampling.penalties, penalized.data());
    const SampledToken token =
        SampleToken(penalized.data(), config_.vocab, settings_, rng.Uniform());
    sequence->history->Add(token.id);
    return token;
  }

  absl::Status Take() {
    std::vector<Sequence> still;
    still.reserve(active_.size());
    for (size_t i = 0; i < active_.size(); ++i) {
      bool ended = false;
      for (const SampledToken& token : lanes_[i].drawn) {
        RETURN_IF_ERROR(CheckFinite(token));
        ++status_.tokens;
        ended = active_[i].Take(token, rules_);
        if (ended) break;
      }
      if (ended) {
        Finish(&active_[i]);
      } else {
        still.push_back(std::move(active_[i]));
      }
    }
    active_ = std::move(still);
    return absl::OkStatus();
  }

  static absl::Status CheckFinite(const SampledToken& token) {
    if (std::isfinite(token.logprob)) return absl::OkStatus();
    return absl::InternalError("the policy's logits are not finite: its weights are damaged");
  }

  void Finish(Sequence* sequence) {
    free_slots_.push_back(sequence->slot);
    Group& group = groups_[sequence->group];
    if (--group.unfinished == 0) {
      const int32_t prefix = static_cast<int32_t>(sequence->group);
      decoder_ != nullptr ? decoder_->DropPrefix(prefix) : cache_->DropPrefix(prefix);
      group.logits = torch::Tensor();
    }
    ++status_.completions;
    if (sink_.on_completion) sink_.on_completion(std::move(sequence->result));
  }

  void Report() {
    status_.active = static_cast<int32_t>(active_.size());
    if (sink_.on_progress) sink_.on_progress(status_);
  }

  const EngineParts& engine_;
  const ModelConfig& config_;
  const Weights& weights_;
  const GenerateSpec& spec_;
  const GenerateSink& sink_;
  const SteadyClock own_clock_;
  StopRules rules_;
  const SampleSettings settings_;
  const bool independent_rows_;
  const bool padded_;
  const GenerationWork work_;
  std::vector<Group> groups_;
  std::deque<Waiting> waiting_;
  std::vector<Sequence> active_;  // samples of one group are neighbours: they are queued so
  std::vector<Lane> lanes_;       // of active_, in this step
  std::vector<int32_t> free_slots_;
  std::unique_ptr<DeviceDecoder> decoder_;  // or else cache_ holds keys and values
  std::unique_ptr<KvCache> cache_;
  DraftPolicy drafts_;
  GenerateStatus status_;
};

}  // namespace

absl::Status RunGenerate(const EngineParts& engine, const GenerateSpec& spec,
                         const GenerateSink& sink) {
  return Run(engine, spec, sink).Go();
}

}  // namespace whetstone
