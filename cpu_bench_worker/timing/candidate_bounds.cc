#include "cpu_bench_worker/timing/candidate_bounds.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace whetstone {

void CandidateBounds::BeginPair() {
  for (Size& size : sizes_) {
    size.warm_up_ns = size.longest_ns = 0;
    size.shortest = {.reference_ns = kNeverNs, .candidate_ns = kNeverNs};
  }
}

void CandidateBounds::Timed(size_t size, double reference_ns, double candidate_ns) {
  Size& s = sizes_[size];
  s.longest_ns = std::max(s.longest_ns, candidate_ns);
  s.shortest.reference_ns = std::min(s.shortest.reference_ns, reference_ns);
  s.shortest.candidate_ns = std::min(s.shortest.candidate_ns, candidate_ns);
}

std::optional<Failure> CandidateBounds::WarmUpTooLong(const std::vector<CallShape>& sizes) const {
  for (size_t i = 0; i < sizes_.size(); ++i) {
    const Size& size = sizes_[i];
    const double later_ns = size.longest_ns * size.warm_up_calls;
    if (size.warm_up_ns > kWarmUpFactor * later_ns + kWarmUpNs)
      return Failure{
          v1::TIMEOUT,
          absl::StrFormat("took %.3f s when it was first called at %s and %.6f s later",
                          size.warm_up_ns / 1e9, SizeText(sizes[i].size), later_ns / 1e9)};
  }
  return std::nullopt;
}

bool CandidateBounds::SettledTooSlow() const {
  return settlings_ < kSettlingsMax &&
         std::any_of(sizes_.begin(), sizes_.end(), [](const Size& size) {
           const double reference = size.shortest.reference_ns / size.settled.reference_ns;
           return kSettledFactor * size.shortest.candidate_ns <
                  size.settled.candidate_ns * std::min(1.0, reference);
         });
}

CallEstimate CandidateBounds::Shortest(size_t size) const {
  CallEstimate shortest = sizes_[size].settled;
  shortest.candidate_ns = std::min(shortest.candidate_ns, sizes_[size].shortest.candidate_ns);
  return shortest;
}

}  // namespace whetstone
