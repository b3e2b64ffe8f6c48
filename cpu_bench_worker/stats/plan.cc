#include "cpu_bench_worker/stats/plan.h"

#include <algorithm>
#include <cmath>

namespace whetstone {

int CallsPerRequest(const CallEstimate& estimate, double harness_floor_ns, int64_t bytes_per_call,
                    double batch_ns) {
  constexpr double kShortestNs = 200;  // An estimate from one call can't resolve less.
  const double reference = std::max(kShortestNs, estimate.reference_ns - harness_floor_ns);
  const double candidate = std::max(kShortestNs, estimate.candidate_ns - harness_floor_ns);
  const double for_candidate =
      std::min(std::ceil(batch_ns / candidate), std::floor(kReferenceBatchNsMax / reference));
  const double wanted = std::max(std::ceil(batch_ns / reference), for_candidate);
  const auto fitting = static_cast<double>(kBatchBytesMax / std::max<int64_t>(1, bytes_per_call));
  return static_cast<int>(std::clamp(std::min(wanted, fitting), 1.0, double{kCallsMax}));
}

int SamplesPerPair(double sample_ns, double budget_ns, int samples_max) {
  const double fitting = std::floor(budget_ns / (kProcessPairs * std::max(1.0, sample_ns)));
  return std::clamp(static_cast<int>(std::min(fitting, double{kSamplesMax})), kSamplesMin,
                    samples_max);
}

bool FarApart(const std::vector<CallEstimate>& estimates) {
  return std::all_of(estimates.begin(), estimates.end(), [](const CallEstimate& e) {
    return std::max(e.reference_ns, e.candidate_ns) >=
           kFarFactor * std::min(e.reference_ns, e.candidate_ns);
  });
}

}  // namespace whetstone
