#include "coordinator/trace/trace_file.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

// Viewers name the track whose number is its process' after that, so that no track has one of them.
constexpr int kFirstTrack = 100'000;

}  // namespace

absl::Status TraceFile::Open() {
  status_ = file_.Open();
  if (status_.ok()) status_ = file_.AddLine(R"({"displayTimeUnit":"ms","traceEvents":[)");
  return status_;
}

void TraceFile::AddEvent(const nlohmann::ordered_json& event) {
  if (!status_.ok()) return;
  status_ = file_.AddLine(absl::StrCat(first_ ? "" : ",", JsonLine(event)));
  first_ = false;
}

void TraceFile::AddName(const char* kind, const Track& track, const std::string& name, int order) {
  nlohmann::ordered_json event = {{"ph", "M"}, {"pid", track.process}};
  if (track.id > 0) event["tid"] = track.id;
  event["name"] = absl::StrCat(kind, "_name");
  event["args"]["name"] = name;
  AddEvent(event);
  event["name"] = absl::StrCat(kind, "_sort_index");
  event["args"] = {{"sort_index", order}};
  AddEvent(event);
}

int TraceFile::AddProcess(const std::string& name) {
  const Track track = {++processes_, 0};
  AddName("process", track, name, track.process);
  return track.process;
}

TraceFile::Track TraceFile::AddTrack(int process, const std::string& name, int order) {
  const Track track = {process, kFirstTrack + tracks_++};
  AddName("thread", track, name, order);
  return track;
}

void TraceFile::AddSpan(const Track& track, const std::string& name, const TraceSpan& span,
                        const nlohmann::ordered_json& args) {
  ++spans_;
  AddEvent({{"ph", "X"},
            {"pid", track.process},
            {"tid", track.id},
            {"ts", span.begin_us},
            {"dur", span.end_us - span.begin_us},
            {"name", name},
            {"args", args}});
}

void TraceFile::AddFlow(const Track& track, int64_t begin_us, int64_t id, Flow part) {
  nlohmann::ordered_json event = {{"ph", part == Flow::kBegin  ? "s"
                                         : part == Flow::kStep ? "t"
                                                               : "f"},
                                  {"id", id},
                                  {"pid", track.process},
                                  {"tid", track.id},
                                  {"ts", begin_us},
                                  {"name", "rollout"},
                                  {"cat", "rollout"}};
  // Without, it would end at the next span of the track.
  if (part == Flow::kEnd) event["bp"] = "e";
  AddEvent(event);
}

absl::Status TraceFile::Finish() {
  if (status_.ok()) status_ = file_.AddLine("]}");
  if (status_.ok()) status_ = file_.Finish();
  return status_;
}

}  // namespace whetstone
