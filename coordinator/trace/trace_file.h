// A TraceFile is a trace in Chrome's JSON form, which ui.perfetto.dev and chrome://tracing open:
// processes with tracks, spans of time on them, and flows, whose arrows go from span to span.
//
//   TraceFile trace("trace.json");
//   RETURN_IF_ERROR(trace.Open());
//   const int trainer = trace.AddProcess("trainer");
//   const TraceFile::Track policy = trace.AddTrack(trainer, "policy", 0);
//   trace.AddSpan(policy, "update", {begin_us, end_us}, {{"loss", 0.5}});
//   RETURN_IF_ERROR(trace.Finish());
//
// What is added is written at once: memory does not grow with it. The file appears at its place
// when it is whole (lines_file.h). It is not thread-safe.
#ifndef WHETSTONE_COORDINATOR_TRACE_TRACE_FILE_H_
#define WHETSTONE_COORDINATOR_TRACE_TRACE_FILE_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"
#include "coordinator/report/lines_file.h"
#include "coordinator/trace/trace_lanes.h"

namespace whetstone {

class TraceFile {
 public:
  struct Track {
    int process = 0;
    int id = 0;  // of no other track, whichever its process
  };
  // A part of a flow.
  enum class Flow { kBegin, kStep, kEnd };

  explicit TraceFile(const std::string& path) : file_(path) {}

  absl::Status Open();
  // Returns the new process. Processes are shown in the order in which they are added.
  int AddProcess(const std::string& name);
  // Those of a process with a lower `order` are shown above.
  Track AddTrack(int process, const std::string& name, int order);
  // `args` is an object: what is shown of the span when it is clicked. No two spans of a track may
  // overlap.
  void AddSpan(const Track& track, const std::string& name, const TraceSpan& span,
               const nlohmann::ordered_json& args);
  // Flow number `id` goes through the span of `track` that begins then; it was added before.
  void AddFlow(const Track& track, int64_t begin_us, int64_t id, Flow part);
  // Returns the first error of all calls since Open.
  absl::Status Finish();
  const absl::Status& status() const { return status_; }
  int64_t spans() const { return spans_; }

 private:
  void AddEvent(const nlohmann::ordered_json& event);
  void AddName(const char* kind, const Track& track, const std::string& name, int order);

  LinesFile file_;
  absl::Status status_;
  int processes_ = 0;
  int tracks_ = 0;
  int64_t spans_ = 0;
  bool first_ = true;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TRACE_TRACE_FILE_H_
