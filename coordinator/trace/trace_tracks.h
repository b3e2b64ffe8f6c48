// TraceTracks are the tracks of one kind that a process has in a trace, as many as its spans need
// side by side: "compile 1", "compile 2" …
//
//   TraceTracks compilers(&trace, worker, "compile", 0);
//   const TraceTracks::Placed placed = compilers.Add("12/0/3", {begin_us, end_us}, args);
//   trace.AddFlow(placed.track, placed.span.begin_us, flow, TraceFile::Flow::kStep);
#ifndef WHETSTONE_COORDINATOR_TRACE_TRACE_TRACKS_H_
#define WHETSTONE_COORDINATOR_TRACE_TRACE_TRACKS_H_

#include <cmath>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/trace/trace_file.h"
#include "coordinator/trace/trace_lanes.h"

namespace whetstone {

// Returns milliseconds, to the microsecond, for args.
inline double TraceMs(double seconds) { return std::round(1e6 * seconds) / 1e3; }

// They are not thread-safe.
class TraceTracks {
 public:
  struct Placed {
    TraceFile::Track track;
    TraceSpan span;
  };

  // `trace` is borrowed. Tracks of lower `order` are shown above. `name` is that of the first
  // track; with `numbered` it is "name 1", and further ones count on in either case.
  TraceTracks(TraceFile* trace, int process, std::string name, int order, bool numbered = true)
      : trace_(trace),
        process_(process),
        name_(std::move(name)),
        order_(order),
        numbered_(numbered) {}

  // Adds a span to the first track that is free then (Lanes::Put), which may be a new one.
  Placed Add(const std::string& name, const TraceSpan& span, const nlohmann::ordered_json& args);
  // Adds a span of a microsecond to the first track: then, or just after the last one that was
  // added so. Add is not called beside it.
  Placed AddPoint(const std::string& name, int64_t at_us, const nlohmann::ordered_json& args);

 private:
  const TraceFile::Track& TrackOf(size_t lane);

  TraceFile* const trace_;
  const int process_;
  const std::string name_;
  const int order_;
  const bool numbered_;
  Lanes lanes_;
  std::vector<TraceFile::Track> tracks_;
  int64_t points_end_us_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TRACE_TRACE_TRACKS_H_
