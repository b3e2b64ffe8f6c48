// whet-worker bench: how long verdicts take on this host, and where the time goes.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_WORKER_BENCH_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_WORKER_BENCH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cpu_bench_worker/measure/measure.h"

namespace whetstone {

// The same program with other machine code: it stops short for a size that never comes.
std::string Variant(const std::string& source, int number);

// One kind of candidate of that problem, and its verdicts.
struct BenchKind {
  std::string name;  // "equal", "faster", "wrong", "does not compile"
  std::string what;  // one line for people
  std::string source;
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;  // expected
  std::vector<double> seconds;                    // from request to verdict, sorted
  std::vector<v1::Verdict> verdicts;

  double Quantile(double q) const;
  // Median over the verdicts of one of their phases.
  double MedianOf(double (v1::Verdict::*phase)() const) const;
};

// Measures `repeats` candidates of each kind alternately, one at a time. Each has another text and
// other machine code, so nothing is cached. INTERNAL: a verdict is not the expected one.
absl::StatusOr<std::vector<BenchKind>> BenchVerdicts(Measurer* measurer, int repeats);

// The table that `whet-worker bench` prints, milliseconds.
std::string BenchTable(const std::vector<BenchKind>& kinds);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_WORKER_BENCH_H_
