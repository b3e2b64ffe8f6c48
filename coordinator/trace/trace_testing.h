// Tests read a trace back with these: whether it is one, and what it says of a rollout.
#ifndef WHETSTONE_COORDINATOR_TRACE_TRACE_TESTING_H_
#define WHETSTONE_COORDINATOR_TRACE_TRACE_TESTING_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace whetstone {

// A trace as a viewer has it.
struct ReadTrace {
  struct Span {
    std::string track;  // "trainer/policy"
    std::string name;
    int64_t begin_us = 0;
    int64_t end_us = 0;
    nlohmann::json args;
    std::string rollout() const { return args.value("rollout", ""); }
  };
  std::vector<Span> spans;
  std::map<int64_t, std::vector<size_t>> flows;  // by number, the spans they go through in order
  std::vector<std::string> problems;             // why it is no good trace

  // The spans of that track and name, "" is any; in order of time.
  std::vector<Span> Of(const std::string& track, const std::string& name = "") const {
    std::vector<Span> found;
    for (const Span& span : spans) {
      if (span.track == track && (name.empty() || span.name == name)) found.push_back(span);
    }
    std::ranges::sort(found, {}, &Span::begin_us);
    return found;
  }
  // The names of the spans that a rollout's flow goes through, with blanks between; of an update
  // the first word.
  std::string Chain(const std::string& rollout) const {
    std::string chain;
    for (const auto& [id, parts] : flows) {
      if (spans[parts.front()].rollout() != rollout) continue;
      for (const size_t part : parts) {
        const std::string& name = spans[part].name;
        absl::StrAppend(&chain, chain.empty() ? "" : " ", name.substr(0, name.find(' ')));
      }
    }
    return chain;
  }
  // How long the spans of that track and name last together.
  double Seconds(const std::string& track, const std::string& name = "") const {
    double sum = 0;
    for (const Span& span : Of(track, name)) {
      sum += static_cast<double>(span.end_us - span.begin_us) / 1e6;
    }
    return sum;
  }
};

// Reads a trace and looks for what no good one has: events of no track, spans of one track that
// overlap, flows that go through no span, or back in time, or through spans of other rollouts.
inline ReadTrace ParseTrace(const std::string& text) {
  ReadTrace trace;
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("traceEvents")) {
    trace.problems.push_back("no traceEvents");
    return trace;
  }
  using TrackId = std::pair<int64_t, int64_t>;
  std::map<int64_t, std::string> processes;
  std::map<TrackId, std::string> tracks;
  std::map<TrackId, std::map<int64_t, size_t>> placed;  // spans by begin
  for (const nlohmann::json& event : json["traceEvents"]) {
    const std::string phase = event.value("ph", "");
    const int64_t process = event.value("pid", int64_t{0});
    const TrackId track = {process, event.value("tid", int64_t{0})};
    const std::string name = event.value("name", "");
    const nlohmann::json args = event.value("args", nlohmann::json::object());
    const int64_t at_us = event.value("ts", int64_t{-1});
    if (phase == "M") {
      const std::string named = args.value("name", "");
      if (name == "process_name") processes[process] = named;
      if (name == "thread_name") tracks[track] = absl::StrCat(processes[process], "/", named);
    } else if (phase == "X") {
      const int64_t length_us = event.value("dur", int64_t{-1});
      if (tracks.count(track) == 0 || at_us < 0 || length_us <= 0) {
        trace.problems.push_back("a span without track or length: " + event.dump());
      }
      if (!placed[track].emplace(at_us, trace.spans.size()).second) {
        trace.problems.push_back("a span that begins with another: " + event.dump());
      }
      trace.spans.push_back({tracks[track], name, at_us, at_us + length_us, args});
    } else if (phase == "s" || phase == "t" || phase == "f") {
      std::vector<size_t>& flow = trace.flows[event.value("id", int64_t{0})];
      const auto through = placed[track].find(at_us);
      if (through == placed[track].end() || (phase == "s") != flow.empty()) {
        trace.problems.push_back("a flow that goes nowhere: " + event.dump());
        continue;
      }
      flow.push_back(through->second);
    } else {
      trace.problems.push_back("an unknown event: " + event.dump());
    }
  }
  for (const auto& [track, spans] : placed) {
    const ReadTrace::Span* before = nullptr;
    for (const auto& [begin_us, index] : spans) {
      const ReadTrace::Span& span = trace.spans[index];
      if (before != nullptr && before->end_us > begin_us) {
        trace.problems.push_back(absl::StrCat("on ", span.track, " ", before->name, " and ",
                                              span.name, " overlap at ", begin_us));
      }
      before = &span;
    }
  }
  for (const auto& [id, flow] : trace.flows) {
    for (size_t i = 1; i < flow.size(); ++i) {
      const ReadTrace::Span& before = trace.spans[flow[i - 1]];
      const ReadTrace::Span& span = trace.spans[flow[i]];
      const bool same = span.rollout() == before.rollout();
      if (before.end_us <= span.begin_us && (same || absl::StartsWith(span.name, "update "))) {
        continue;
      }
      trace.problems.push_back(absl::StrCat("flow ", id, " goes from ", before.name, " to ",
                                            span.name, ", ", span.begin_us - before.end_us,
                                            " us later"));
    }
  }
  return trace;
}

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TRACE_TRACE_TESTING_H_
