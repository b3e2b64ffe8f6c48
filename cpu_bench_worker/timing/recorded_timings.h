// Timings of programs whose true speedup is known, recorded on a real machine: what tests of the
// stopping rule replay. docs/formats/timings.md describes the bytes; benchmarks/record_timings
// writes them.
//
//   ASSIGN_OR_RETURN(const std::string bytes, ReadFile("…/equal_compute.timings"));
//   ASSIGN_OR_RETURN(const RecordedTimings timings, DecodeTimings(bytes));
//   timings.sizes[0][17];  // the samples of process pair 17 at the first timed size
//
// Pure functions.
#ifndef WHETSTONE_CPU_BENCH_WORKER_TIMING_RECORDED_TIMINGS_H_
#define WHETSTONE_CPU_BENCH_WORKER_TIMING_RECORDED_TIMINGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cpu_bench_worker/stats/statistics.h"

namespace whetstone {

struct RecordedTimings {
  double truth = 1;                 // the candidate's true speedup
  std::vector<PairedRatios> sizes;  // ratios[size][pair][sample], pairs in the order of time
};

// Ratios are kept to 0.01 % of themselves, and cut to e^±3.2.
std::string EncodeTimings(const RecordedTimings& timings);
// INVALID_ARGUMENT: not such a file, or cut short.
absl::StatusOr<RecordedTimings> DecodeTimings(absl::string_view bytes);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_TIMING_RECORDED_TIMINGS_H_
