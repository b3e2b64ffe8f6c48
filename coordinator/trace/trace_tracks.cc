#include "coordinator/trace/trace_tracks.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace whetstone {

const TraceFile::Track& TraceTracks::TrackOf(size_t lane) {
  while (tracks_.size() <= lane) {
    const size_t number = tracks_.size() + 1;
    const bool plain = !numbered_ && number == 1;
    tracks_.push_back(
        trace_->AddTrack(process_, plain ? name_ : absl::StrCat(name_, " ", number), order_));
  }
  return tracks_[lane];
}

TraceTracks::Placed TraceTracks::Add(const std::string& name, const TraceSpan& span,
                                     const nlohmann::ordered_json& args) {
  const Lanes::Place place = lanes_.Put(span);
  const TraceFile::Track track = TrackOf(place.lane);
  trace_->AddSpan(track, name, place.span, args);
  return {track, place.span};
}

TraceTracks::Placed TraceTracks::AddPoint(const std::string& name, int64_t at_us,
                                          const nlohmann::ordered_json& args) {
  const int64_t begin_us = std::max(at_us, points_end_us_);
  points_end_us_ = begin_us + 1;
  const TraceFile::Track track = TrackOf(0);
  const TraceSpan span = {begin_us, points_end_us_};
  trace_->AddSpan(track, name, span, args);
  return {track, span};
}

}  // namespace whetstone
