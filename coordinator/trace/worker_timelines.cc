#include "coordinator/trace/worker_timelines.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

// Tracks are shown in this order: compilers, then slots by their number, then the whole host, then
// what nobody knows the slot of.
constexpr int kFirstSlotOrder = 1;
constexpr int kWholeHostOrder = 1000;
constexpr int kEstimatedOrder = 1001;

double BuildSeconds(const v1::Verdict& verdict) {
  return std::max(verdict.screen_s(), verdict.compile_s());
}

std::string SlotName(int slot) { return slot < 0 ? "whole host" : absl::StrCat("slot ", slot); }

int SlotOrder(int slot) { return slot < 0 ? kWholeHostOrder : kFirstSlotOrder + slot; }

// What is told of the timing besides.
void AddTiming(const v1::Verdict& v, nlohmann::ordered_json* args) {
  (*args)["start_ms"] = TraceMs(v.start_s());
  (*args)["invocations_ms"] = TraceMs(v.invocations_s());
  (*args)["process_pairs"] = v.process_pairs();
  (*args)["measured_twice"] = v.doubted();
}

}  // namespace

std::vector<WorkerTimelines::Stage> WorkerTimelines::StagesOf(const v1::Verdict& verdict,
                                                              int64_t here_us) const {
  std::vector<Stage> stages;
  if (verdict.has_stage_times()) {
    const v1::StageTimes& times = verdict.stage_times();
    const int64_t offset_us = clocks_->OffsetUs(verdict.worker());
    const auto add = [&](int64_t begin_us, Stage stage) {
      if (begin_us == 0) return;
      stage.begin_us = begin_us + offset_us;
      stages.push_back(std::move(stage));
    };
    const auto on_slot = [](const char* name, int slot, double seconds) {
      return Stage{name, SlotName(slot), SlotOrder(slot), /*numbered=*/false, 0, seconds};
    };
    add(times.build_us(), {"compile", "compile", 0, /*numbered=*/true, 0, BuildSeconds(verdict)});
    add(times.check_us(), on_slot("check", times.check_slot(), verdict.check_s()));
    add(times.time_us(), on_slot("time", times.time_slot(), verdict.time_s()));
    return stages;
  }
  if (verdict.cached()) return stages;  // what it says was another's
  int64_t end_us = here_us;
  const std::pair<const char*, double> took[] = {
      {"time", verdict.time_s()}, {"check", verdict.check_s()}, {"compile", BuildSeconds(verdict)}};
  for (const auto& [name, seconds] : took) {
    if (seconds <= 0) continue;
    end_us -= static_cast<int64_t>(1e6 * seconds);
    stages.push_back({name, "measured", kEstimatedOrder, true, end_us, seconds});
  }
  std::ranges::reverse(stages);
  return stages;
}

TraceTracks& WorkerTimelines::TracksOf(const std::string& worker, const Stage& stage) {
  auto found = workers_.find(worker);
  if (found == workers_.end()) {
    found = workers_.emplace(worker, Worker{trace_->AddProcess("worker " + worker), {}}).first;
  }
  const auto [tracks, added] = found->second.tracks.try_emplace(
      stage.track, trace_, found->second.process, stage.track, stage.order, stage.numbered);
  return tracks->second;
}

std::vector<TraceTracks::Placed> WorkerTimelines::Draw(const v1::Verdict& verdict,
                                                       const std::string& rollout,
                                                       const std::string& again, int64_t after_us,
                                                       int64_t here_us) {
  std::vector<TraceTracks::Placed> drawn;
  for (const Stage& stage : StagesOf(verdict, here_us)) {
    const TraceSpan span = {std::max(stage.begin_us, after_us),
                            stage.begin_us + static_cast<int64_t>(1e6 * stage.seconds)};
    nlohmann::ordered_json args = {{"rollout", rollout}, {"ms", TraceMs(stage.seconds)}};
    if (after_us > 0) args["waited_ms"] = static_cast<double>(span.begin_us - after_us) / 1e3;
    if (!verdict.has_stage_times()) args["estimated"] = true;
    if (stage.name == std::string("time")) AddTiming(verdict, &args);
    drawn.push_back(
        TracksOf(verdict.worker(), stage).Add(absl::StrCat(stage.name, again), span, args));
    after_us = drawn.back().span.end_us;
  }
  return drawn;
}

}  // namespace whetstone
