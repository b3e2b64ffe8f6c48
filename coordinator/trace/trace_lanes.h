// Spans of time that run side by side are drawn on several tracks: lanes, on each of which no two
// overlap.
//
//   Lanes compilers;
//   const Lanes::Place place = compilers.Put({begin_us, end_us});   // → lane 0, 1, …
#ifndef WHETSTONE_COORDINATOR_TRACE_TRACE_LANES_H_
#define WHETSTONE_COORDINATOR_TRACE_TRACE_LANES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace whetstone {

// Microseconds since 1970. The end is no part of it, and comes after the begin.
struct TraceSpan {
  int64_t begin_us = 0;
  int64_t end_us = 0;
};

// It is not thread-safe. Its memory grows with the spans: three numbers for each.
class Lanes {
 public:
  struct Place {
    size_t lane = 0;
    TraceSpan span;
  };

  // So much two spans of one lane may overlap before they are moved apart: begins are told by one
  // clock and lengths by another, which is set right meanwhile.
  static constexpr int64_t kTrimUsMax = 1000;

  // Puts a span into the first lane that is free then, whatever the order in which spans come. What
  // ends before it begins becomes a microsecond long; what sticks out into its neighbours by no
  // more than kTrimUsMax is trimmed.
  Place Put(TraceSpan span);

 private:
  std::vector<std::map<int64_t, int64_t>> lanes_;  // of each, the ends by their begins
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TRACE_TRACE_LANES_H_
