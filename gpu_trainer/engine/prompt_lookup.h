// Speculative decoding whose drafts come from the sequence itself: text repeats itself, code above
// all, so what followed the last few tokens the previous time they occurred is guessed to follow
// again ("prompt lookup"; Saxena 2023, and Yang et al., arXiv 2304.04487).
//
//   DraftPolicy policy;                                             // one per Generate
//   std::vector<int32_t> draft = FindDraft(prompt, sampled, policy.DraftMax(sequences));
//   … one step over the newest token and its draft; draft[i] is accepted if it is the token drawn …
//   policy.Observe({.sequences = …, .rows = …, .tested = …, .accepted = …, .seconds = …});
//
// The distribution does not change at all: the token of a position is drawn from that position's
// own logits with that position's own random number, draft or no draft (engine.h), and a draft only
// says which later logits are worth computing in the same step.
//
// Whether that pays is measured: rows of one sequence share the reading of the weights, so on a CPU
// they are nearly free while few sequences decode, and cost their full arithmetic when many do.
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_PROMPT_LOOKUP_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_PROMPT_LOOKUP_H_

#include <cstdint>
#include <vector>

namespace whetstone {

// Up to `tokens_max` tokens that followed the latest earlier occurrence of the last tokens (three,
// or else two) of `prompt` + `sampled`. Empty: no earlier occurrence.
std::vector<int32_t> FindDraft(const std::vector<int32_t>& prompt,
                               const std::vector<int32_t>& sampled, int64_t tokens_max);

// Decides how long drafts may be. Not thread-safe.
class DraftPolicy {
 public:
  // One decoding step: rows = sequences + drafted.
  struct Step {
    int64_t sequences = 0;
    int64_t rows = 0;
    int64_t tested = 0;    // drafted tokens that were compared with a drawn one …
    int64_t accepted = 0;  // … and were equal to it
    double seconds = 0;
  };

  // Longest draft worth trying with so many sequences; 0: none in this step.
  int64_t DraftMax(int64_t sequences);
  void Observe(const Step& step);

 private:
  double acceptance_ = 0.5;  // share of the tested tokens that were accepted, lately
  double row_cost_ = 0.1;    // of one drafted row, as a share of a step without drafts, lately
  double plain_s_ = 0;       // of a step without drafts of `sequences_`; 0: not known yet
  int64_t sequences_ = 0;
  int64_t pause_ = 0;  // steps without drafts still to come
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_PROMPT_LOOKUP_H_
