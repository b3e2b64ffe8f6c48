#include "gpu_trainer/engine/generation_loop.h"

#include <chrono>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "common/status_macros.h"
#include "gpu_trainer/kernels/parallel.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {
namespace {

std::set<int32_t> StopIds(const GenerateSpec& spec, const ModelConfig& config) {
  std::set<int32_t> ids(spec.sampling.stop_ids.begin(), spec.sampling.stop_ids.end());
  if (!spec.sampling.ignore_eos) {
    ids.insert(config.eos_ids.begin(), config.eos_ids.end());
    ids.insert(spec.end_ids.begin(), spec.end_ids.end());
  }
  return ids;
}

double LogitBytes(int64_t rows, int64_t vocab) { return 4.0 * static_cast<double>(rows * vocab); }

}  // namespace

GenerationLoop::GenerationLoop(const GenerationSetup& setup, int64_t slots, ModelRunner* runner)
    : spec_(setup.spec),
      sink_(setup.sink),
      rules_{setup.spec.sampling, setup.tokenizer, setup.clock, StopIds(setup.spec, setup.config)},
      sampler_(setup.sampler),
      vocab_(setup.config.vocab),
      scheduler_(setup.spec, setup.config.context, slots),
      speculator_(setup.prompt_lookup && runner != nullptr && runner->TakesDrafts()),
      runner_(runner),
      prompt_logits_(setup.spec.groups.size()) {}

// Admits what fits, then lets every admitted sequence take a step.
absl::Status GenerationLoop::Run() {
  torch::NoGradGuard no_grad;
  while (true) {
    if (sink_.cancelled && sink_.cancelled()) {
      return absl::CancelledError("generation was cancelled");
    }
    RETURN_IF_ERROR(Admit());
    Report();
    if (scheduler_.active().empty()) return absl::OkStatus();
    RETURN_IF_ERROR(Step());
    RETURN_IF_ERROR(Take());
  }
}

// The first token of an admitted sequence comes from its prompt's logits.
absl::Status GenerationLoop::Admit() {
  while (std::optional<Sequence> sequence = scheduler_.Admit()) {
    const std::vector<int32_t>& prompt = spec_.groups[sequence->group].ids;
    torch::Tensor& logits = prompt_logits_[sequence->group];
    if (!logits.defined()) {
      logits = runner_->Prefill(static_cast<int32_t>(sequence->group), prompt);
    }
    if (spec_.sampling.deadline_s > 0) sequence->begin = rules_.clock.Now();
    if (sampler_.UsesHistory()) sequence->history.emplace(prompt);
    const SampledToken token = [&] {
      const PartScope scope(Part::kSampling, 0, LogitBytes(1, vocab_));
      return Draw(logits.const_data_ptr<float>(), 0, &*sequence);
    }();
    RETURN_IF_ERROR(TakeToken(token, &*sequence));
    if (sequence->ended) {
      Finish(&*sequence);
    } else {
      scheduler_.Start(*std::move(sequence));
    }
  }
  return absl::OkStatus();
}

// Draws the next tokens of every active sequence into drawn_.
absl::Status GenerationLoop::Step() {
  const std::chrono::nanoseconds begin = rules_.clock.Now();
  const std::vector<Sequence>& active = scheduler_.active();
  drawn_.assign(active.size(), {});
  speculator_.BeginStep(static_cast<int64_t>(active.size()));
  std::vector<DecodeInput> inputs;
  inputs.reserve(active.size());
  for (const Sequence& sequence : active) inputs.push_back(InputOf(sequence));
  ASSIGN_OR_RETURN(const std::vector<SampledToken> tokens,
                   runner_->Step(inputs, [&](size_t first, size_t end, const float* logits) {
                     Draw(inputs, first, end, logits);
                   }));
  for (size_t i = 0; i < tokens.size(); ++i) drawn_[i] = {tokens[i]};
  for (size_t i = 0; i < inputs.size(); ++i) speculator_.Count(inputs[i].draft, drawn_[i]);
  speculator_.EndStep(std::chrono::duration<double>(rules_.clock.Now() - begin).count());
  ++status_.steps;
  status_.graph_steps = runner_->graph_steps();
  status_.drafted = speculator_.drafted();
  status_.accepted = speculator_.accepted();
  return absl::OkStatus();
}

// A sequence's newest token enters the cache in the next step, not when it is sampled.
DecodeInput GenerationLoop::InputOf(const Sequence& sequence) const {
  const std::vector<int32_t>& prompt = spec_.groups[sequence.group].ids;
  const Completion& result = sequence.result;
  const int64_t sampled = static_cast<int64_t>(result.ids.size());
  return {.prefix = static_cast<int32_t>(sequence.group),
          .slot = sequence.slot,
          .prefix_tokens = static_cast<int64_t>(prompt.size()),
          .suffix = sampled - 1,
          .token = result.ids.back(),
          .draft = speculator_.Propose(prompt, result.ids, sequence.tokens_max - sampled),
          .next = {result.group_index, result.sample, sampled}};
}

// Draws the tokens of active sequences [begin, end), whose rows of `logits` follow each other.
void GenerationLoop::Draw(const std::vector<DecodeInput>& inputs, size_t begin, size_t end,
                          const float* logits) {
  std::vector<const float*> first_row;
  int64_t rows = 0;
  for (size_t i = begin; i < end; ++i) {
    first_row.push_back(logits + rows * vocab_);
    rows += inputs[i].rows();
  }
  const PartScope scope(Part::kSampling, 0, LogitBytes(rows, vocab_));
  ParallelFor(static_cast<int64_t>(end - begin), [&](int64_t k) {
    const size_t i = begin + static_cast<size_t>(k);
    drawn_[i] = Speculator::Verify(inputs[i].draft, [&](size_t ahead) {
      return Draw(first_row[static_cast<size_t>(k)] + static_cast<int64_t>(ahead) * vocab_, ahead,
                  &scheduler_.active()[i]);
    });
  });
}

// Draws the token `ahead` of the sequence's next one.
SampledToken GenerationLoop::Draw(const float* logits, size_t ahead, Sequence* sequence) const {
  const Completion& result = sequence->result;
  return sampler_.Draw(
      logits, {result.group_index, result.sample, static_cast<int64_t>(result.ids.size() + ahead)},
      sequence->history ? &*sequence->history : nullptr);
}

absl::Status GenerationLoop::Take() {
  for (size_t i = 0; i < drawn_.size(); ++i) {
    Sequence& sequence = scheduler_.active()[i];
    for (const SampledToken& token : drawn_[i]) {
      RETURN_IF_ERROR(TakeToken(token, &sequence));
      if (sequence.ended) break;
    }
    if (sequence.ended) Finish(&sequence);
  }
  scheduler_.DropEnded();
  return absl::OkStatus();
}

absl::Status GenerationLoop::TakeToken(const SampledToken& token, Sequence* sequence) {
  if (!std::isfinite(token.logprob)) {
    return absl::InternalError("the policy's logits are not finite: its weights are damaged");
  }
  ++status_.tokens;
  sequence->Take(token, rules_);
  return absl::OkStatus();
}

void GenerationLoop::Finish(Sequence* sequence) {
  if (scheduler_.Finish(*sequence)) {
    runner_->DropPrefix(static_cast<int32_t>(sequence->group));
    prompt_logits_[sequence->group] = torch::Tensor();
  }
  ++status_.completions;
  if (sink_.on_completion) sink_.on_completion(std::move(sequence->result));
}

void GenerationLoop::Report() {
  status_.active = static_cast<int32_t>(scheduler_.active().size());
  if (sink_.on_progress) sink_.on_progress(status_);
}

}  // namespace whetstone
