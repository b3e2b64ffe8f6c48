#include "gpu_trainer/engine/speculation/speculator.h"

#include <algorithm>

#include "gpu_trainer/engine/speculation/prompt_lookup.h"

namespace whetstone {

void Speculator::BeginStep(int64_t sequences) {
  step_ = {.sequences = sequences};
  draft_max_ = enabled_ ? policy_.DraftMax(sequences) : 0;
}

std::vector<int32_t> Speculator::Propose(const std::vector<int32_t>& prompt,
                                         const std::vector<int32_t>& sampled,
                                         int64_t tokens_left) const {
  if (draft_max_ == 0) return {};
  return FindDraft(prompt, sampled, std::min(draft_max_, tokens_left - 1));
}

std::vector<SampledToken> Speculator::Verify(const std::vector<int32_t>& draft,
                                             absl::FunctionRef<SampledToken(size_t i)> draw) {
  std::vector<SampledToken> drawn;
  for (size_t i = 0; i <= draft.size(); ++i) {
    drawn.push_back(draw(i));
    if (i < draft.size() && drawn.back().id != draft[i]) break;
  }
  return drawn;
}

void Speculator::Count(const std::vector<int32_t>& draft, const std::vector<SampledToken>& drawn) {
  const int64_t guesses = static_cast<int64_t>(draft.size());
  const int64_t tokens = static_cast<int64_t>(drawn.size());
  step_.rows += 1 + guesses;
  step_.tested += std::min(tokens, guesses);
  step_.accepted += tokens - 1;
  drafted_ += guesses;
  accepted_ += tokens - 1;
}

void Speculator::EndStep(double seconds) {
  step_.seconds = seconds;
  policy_.Observe(step_);
}

}  // namespace whetstone
