#include "coordinator/trace/trace_lanes.h"

#include <algorithm>
#include <iterator>

namespace whetstone {
namespace {

// Returns what of the span is free in a lane around the span's middle; its end is not after its
// begin where that is taken.
TraceSpan FreePart(const std::map<int64_t, int64_t>& lane, TraceSpan span) {
  const auto after = lane.upper_bound(span.begin_us + (span.end_us - span.begin_us) / 2);
  if (after != lane.end()) span.end_us = std::min(span.end_us, after->first);
  if (after != lane.begin()) span.begin_us = std::max(span.begin_us, std::prev(after)->second);
  return span;
}

}  // namespace

Lanes::Place Lanes::Put(TraceSpan span) {
  span.end_us = std::max(span.end_us, span.begin_us + 1);
  for (size_t i = 0;; ++i) {
    if (i == lanes_.size()) lanes_.emplace_back();
    const TraceSpan part = FreePart(lanes_[i], span);
    const int64_t trimmed = part.begin_us - span.begin_us + span.end_us - part.end_us;
    if (part.begin_us >= part.end_us || trimmed > kTrimUsMax) continue;
    lanes_[i][part.begin_us] = part.end_us;
    return {i, part};
  }
}

}  // namespace whetstone
