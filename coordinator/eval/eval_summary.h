// What evaluations found, added up: for the console, JSON and the page.
#ifndef WHETSTONE_COORDINATOR_EVAL_EVAL_SUMMARY_H_
#define WHETSTONE_COORDINATOR_EVAL_EVAL_SUMMARY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coordinator/eval/bootstrap.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

struct EvalSample {
  int sample = 0;  // its number; equal numbers were drawn from the same random numbers
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  // Over the reference, of a right one; 1 where it differs from 1 by no more than equal code does.
  double speedup = 0;
  int64_t tokens = 0;
  std::string program;  // equal programs have equal ones; empty where there is none
};

struct EvalProblem {
  std::string id;
  double expert_speedup = 0;  // 0: never measured
  std::vector<EvalSample> samples;
};

struct EvalModel {
  std::string name;
  std::string path;
  std::vector<EvalProblem> problems;
};

// Counts of one model's samples, of one problem or of all.
struct EvalCounts {
  int samples = 0;
  int right = 0;
  std::map<v1::Outcome, int> outcomes;
  double tokens_mean = 0;
  size_t programs = 0;  // that differ
  // Of right samples, times as fast as the reference; 0 without any. The median over several
  // problems is the geometric mean of those problems' that have right samples.
  double median_speedup = 0;
  double fastest = 0;
};

struct EvalSummary {
  std::string split;
  int samples_wanted = 0;  // for each problem
  uint64_t seed = 0;
  std::vector<int> ks;
  std::vector<EvalModel> models;  // as read, each with the same problems
  std::vector<Metric>
      metrics;  // for each of `ks`: pass, fast_1, fast_1.5, fast_2, fast_expert, best
  // Over the problems for which every model has samples. There may be none: then it is empty.
  Estimates overall;
  size_t problems_compared = 0;
  std::vector<EvalCounts> counts;  // by model
  // By problem, then by model. Estimates of a problem that is left out are empty.
  std::vector<std::vector<EvalCounts>> problem_counts;
  std::vector<Estimates> problem_estimates;
};

// Adds up. An expert's speedup is the geometric mean of what the models' evaluations measured.
// Samples that are no fault of the program (INFRASTRUCTURE_ERROR) are left out; a SUSPECT one is
// not right. The models are not empty and have the same problems in the same order.
EvalSummary SummarizeEvaluation(std::vector<EvalModel> models, const std::string& split,
                                int samples_wanted, std::vector<int> ks, uint64_t seed);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_EVAL_EVAL_SUMMARY_H_
