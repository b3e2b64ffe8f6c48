#include "cpu_bench_worker/timing/candidate_bounds.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace whetstone {

void CandidateBounds::BeginPair() {
  for (Size& size : sizes_) {
    size.warm_up_ns = size.longest_ns = 0;
    size.shortest_ns = kNeverNs;
  }
}

void CandidateBounds::Timed(size_t size, double call_ns) {
  sizes_[size].longest_ns = std::max(sizes_[size].longest_ns, call_ns);
  sizes_[size].shortest_ns = std::min(sizes_[size].shortest_ns, call_ns);
}

std::optional<Failure> CandidateBounds::WarmUpTooLong(const std::vector<CallShape>& sizes) const {
  for (size_t i = 0; i < sizes_.size(); ++i) {
    const Size& size = sizes_[i];
    if (size.warm_up_ns > kWarmUpFactor * size.longest_ns + kWarmUpNs)
      return Failure{
          v1::TIMEOUT,
          absl::StrFormat("took %.3f s for its first call at %s and %.6f s for later ones",
                          size.warm_up_ns / 1e9, SizeText(sizes[i].size), size.longest_ns / 1e9)};
  }
  return std::nullopt;
}

bool CandidateBounds::SettledTooSlow() const {
  return settlings_ < kSettlingsMax &&
         std::any_of(sizes_.begin(), sizes_.end(), [](const Size& size) {
           return kSettledFactor * size.shortest_ns < size.settled.candidate_ns;
         });
}

CallEstimate CandidateBounds::Shortest(size_t size) const {
  CallEstimate shortest = sizes_[size].settled;
  shortest.candidate_ns = std::min(shortest.candidate_ns, sizes_[size].shortest_ns);
  return shortest;
}

}  // namespace whetstone
