// Says whether a draft pays, and how long it may be. Rows of one sequence share the reading of the
// weights, so on a CPU they are nearly free while few sequences decode, and cost their full
// arithmetic when many do: both what a drafted row costs and how often it is right are measured.
//
//   DraftPolicy policy;                                             // one per generation
//   const int64_t longest = policy.DraftMax(sequences);
//   … a step with drafts of at most that length …
//   policy.Observe({.sequences = …, .rows = …, .tested = …, .accepted = …, .seconds = …});
#ifndef WHETSTONE_GPU_TRAINER_ENGINE_SPECULATION_DRAFT_POLICY_H_
#define WHETSTONE_GPU_TRAINER_ENGINE_SPECULATION_DRAFT_POLICY_H_

#include <cstdint>

namespace whetstone {

// Not thread-safe.
class DraftPolicy {
 public:
  // A step has rows = sequences + drafted.
  struct Step {
    int64_t sequences = 0;
    int64_t rows = 0;
    int64_t tested = 0;    // drafted tokens that were compared with a drawn one …
    int64_t accepted = 0;  // … and were equal to it
    double seconds = 0;
  };

  // Returns the longest draft worth trying with so many sequences; 0: none in this step.
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

#endif  // WHETSTONE_GPU_TRAINER_ENGINE_SPECULATION_DRAFT_POLICY_H_
