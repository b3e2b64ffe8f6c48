// What a campaign's evaluations found, sample by sample: for tables, intervals and comparisons.
//
//   ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(paths, /*read_only=*/true));
//   ASSIGN_OR_RETURN(const std::vector<EvaluatedSample> samples, ReadEvaluatedSamples(run));
#ifndef WHETSTONE_COORDINATOR_JOURNAL_EVAL_SAMPLES_H_
#define WHETSTONE_COORDINATOR_JOURNAL_EVAL_SAMPLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/journal/open_run.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

// An EvaluatedSample is one completion for a problem of `eval.problems`, judged.
struct EvaluatedSample {
  int64_t step = 0;  // GRPO steps that the policy had seen; 0: none, or only the warm-up
  std::string problem_id;
  int problem_index = 0;  // in eval.problems, from 0
  int sample = 0;         // from 0 to eval.samples - 1
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  bool correct = false;  // outcome is CORRECT
  double speedup = 0;    // over the reference; 0 unless correct
  // |ln speedup| of equal code stays below this (Verdict.noise_band); 0 unless correct.
  double noise_band = 0;
  double reward = 0;  // 0 where dropped
  // INFRASTRUCTURE_ERROR: not the candidate's doing.
  bool dropped = false;
  int64_t tokens = 0;  // of the completion
  // Verdict.canonical_hash: equal programs have equal ones; empty where no worker saw a program.
  std::string candidate_hash;
  // The expert's speedup over the reference: the geometric mean over the hosts that measured it; 0
  // while none has.
  double expert_speedup = 0;
};

// Returns every sample that has its verdict, also of a round that is not complete: by step, problem
// and sample. Sample s of a problem was drawn from the same random numbers in every round, and in
// every run with the same seed, problems in this order and samples. DATA_LOSS: the journal is
// damaged.
absl::StatusOr<std::vector<EvaluatedSample>> ReadEvaluatedSamples(const OpenedRun& run);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_EVAL_SAMPLES_H_
