// Does what published systems do with a candidate, for comparison: compiles it with its harness,
// then runs the program thirteen times, each run in a sandbox of its own.
//
//   PlainPipeline plain(problem, bin_dir);
//   ASSIGN_OR_RETURN(PlainResult result, plain.Evaluate(source, calls_per_size));
//
// It serves one thread at a time.
#ifndef WHETSTONE_BENCHMARKS_PLAIN_PIPELINE_H_
#define WHETSTONE_BENCHMARKS_PLAIN_PIPELINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/file.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

struct PlainResult {
  bool compiled = false;
  bool right = false;
  int runs = 0;
};

class PlainPipeline {
 public:
  static constexpr int kRuns = 13;

  // Serves problems of the shape f(const float*, const float*, float*, int) over n×n matrices.
  static absl::StatusOr<PlainPipeline> Create(const v1::Problem& problem);

  // Compiles `source` with g++ and the problem's headers and flags, then runs it kRuns times; each
  // run checks it against the reference once and makes its share of `timed_calls` calls of the
  // reference and as many of the candidate at every timed size. The first run that fails is the
  // last. Errors are ours.
  absl::StatusOr<PlainResult> Evaluate(const std::string& source, int timed_calls) const;

 private:
  PlainPipeline(const v1::Problem& problem, TempDir dir)
      : problem_(problem), dir_(std::move(dir)) {}
  v1::Problem problem_;
  TempDir dir_;
};

}  // namespace whetstone

#endif  // WHETSTONE_BENCHMARKS_PLAIN_PIPELINE_H_
