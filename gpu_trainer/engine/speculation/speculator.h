// Decodes speculatively: a step computes a sequence's newest token and a draft of what may follow,
// and keeps as many tokens as the draft got right, and one.
//
//   Speculator speculator(/*enabled=*/true);                        // one per generation
//   speculator.BeginStep(sequences);
//   std::vector<int32_t> draft = speculator.Propose(prompt, sampled, tokens_left);
//   … logits after the newest token, and after each token of the draft …
//   std::vector<SampledToken> drawn = Speculator::Verify(draft, draw);
//   speculator.Count(draft, drawn);                                 // of every sequence
//   speculator.EndStep(seconds);
//
// The distribution does not change at all: the token of a position is drawn from that position's
// own logits with that position's own random number, draft or no draft (engine.h), and a draft only
// says which later logits are worth computing in the same step. Whether that pays is measured
// (draft_policy.h). Not thread-safe, but for Verify.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_SPECULATION_SPECULATOR_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_SPECULATION_SPECULATOR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "gpu_trainer/engine/speculation/draft_policy.h"
#include "gpu_trainer/kernels/sample.h"

namespace whetstone {

class Speculator {
 public:
  // Every draft is empty unless `enabled`.
  explicit Speculator(bool enabled) : enabled_(enabled) {}

  // Decides how long the drafts of a step of so many sequences may be.
  void BeginStep(int64_t sequences);

  // Returns a draft of what follows `prompt` and `sampled`; empty where none is worth a row.
  // `tokens_left` is how many the sequence may still get, at least 1; every row yields one at most.
  std::vector<int32_t> Propose(const std::vector<int32_t>& prompt,
                               const std::vector<int32_t>& sampled, int64_t tokens_left) const;

  // Returns the tokens that the step yields, at least one. `draw(i)` draws the token after the
  // first i of the draft; it is called in order, as long as the tokens drawn are the drafted ones.
  static std::vector<SampledToken> Verify(const std::vector<int32_t>& draft,
                                          absl::FunctionRef<SampledToken(size_t i)> draw);

  // Books one sequence's share of the step.
  void Count(const std::vector<int32_t>& draft, const std::vector<SampledToken>& drawn);
  // Ends the step, which took so long.
  void EndStep(double seconds);

  int64_t drafted() const { return drafted_; }    // tokens guessed ahead since the beginning …
  int64_t accepted() const { return accepted_; }  // … and found right

 private:
  const bool enabled_;
  DraftPolicy policy_;
  DraftPolicy::Step step_;
  int64_t draft_max_ = 0;
  int64_t drafted_ = 0, accepted_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_SPECULATION_SPECULATOR_H_
