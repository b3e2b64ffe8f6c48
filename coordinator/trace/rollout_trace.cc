#include "coordinator/trace/rollout_trace.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "coordinator/durable/step_record.h"
#include "coordinator/report/verdict_json.h"
#include "coordinator/trace/trace_file.h"
#include "coordinator/trace/trace_tracks.h"
#include "coordinator/trace/trainer_timeline.h"
#include "coordinator/trace/worker_clocks.h"
#include "coordinator/trace/worker_timelines.h"

namespace whetstone {
namespace {

using TracedKey = std::tuple<int64_t, int, int>;  // step, group, sample

constexpr int64_t kProgressEvery = 1000;  // entries

// What is known of a rollout whose step is open.
struct TracedRollout {
  int64_t flow = 0;
  TraceSpan generated;
  int tokens = 0;
  int64_t end_us = 0;  // of the last thing that is drawn of it
  bool learned = false;
};

std::string PlaceOf(const TracedKey& key) {
  return RolloutPlace(std::get<0>(key), std::get<1>(key), std::get<2>(key));
}

// Draws one entry after the other.
class RolloutTracer {
 public:
  // `trace` is open. All are borrowed.
  RolloutTracer(const CampaignPlan& plan, const TracedSteps& steps, const WorkerClocks& clocks,
                TraceFile* trace)
      : plan_(plan),
        steps_(steps),
        trace_(trace),
        coordinator_(trace->AddProcess("coordinator")),
        step_tracks_(trace, coordinator_, "steps", 0, /*numbered=*/false),
        extracts_(trace, coordinator_, "extract", 1, /*numbered=*/false),
        rewards_(trace, coordinator_, "reward", 2, /*numbered=*/false),
        trainer_(&plan, trace),
        workers_(trace, &clocks) {}

  void Draw(const JournalEntry& entry, int64_t at_us) {
    if (first_us_ == 0) {
      first_us_ = at_us;
      step_begin_us_ = at_us;
      // What comes before these steps ends with it.
      if (ClosesStep(entry)) return trainer_.Begin(at_us);
    }
    last_us_ = std::max(last_us_, at_us);
    std::visit([&](const auto& e) { On(e, at_us); }, entry);
  }
  void End() { trainer_.End(); }
  TraceCounts counts() const {
    return {rollouts_, trace_->spans(), static_cast<double>(last_us_ - first_us_) / 1e6};
  }

 private:
  void On(const PromptEntry& e, int64_t at_us);
  void On(const RolloutEntry& e, int64_t at_us);
  void On(const VerdictEntry& e, int64_t at_us);
  void On(const IncumbentEntry& e, int64_t at_us);
  void On(const UpdateEntry& e, int64_t at_us);
  void On(const EvaluationEntry& e, int64_t at_us);
  void On(const CheckpointEntry& e, int64_t at_us) { trainer_.Checkpoint(e, at_us); }
  void On(const StartEntry&, int64_t at_us) { trainer_.Start(at_us); }
  void On(const LoadEntry& e, int64_t at_us) { trainer_.Load(e, at_us); }
  // When what these tell of began is not known.
  void On(const CalibrationEntry&, int64_t) {}
  void On(const ChangeEntry&, int64_t) {}

  // Draws the whole of a step, whose row says how long it took: from the end of the one before.
  void DrawStep(const v1::UpdateName& name, const std::map<std::string, double>& row,
                const char* seconds, int64_t at_us);
  void Forget(int64_t step);
  // Leads the rollout's flow through what was drawn.
  void Through(const TraceTracks::Placed& placed, TraceFile::Flow part, TracedRollout* rollout) {
    trace_->AddFlow(placed.track, placed.span.begin_us, rollout->flow, part);
    rollout->end_us = placed.span.end_us;
  }

  const CampaignPlan& plan_;
  const TracedSteps steps_;
  TraceFile* const trace_;
  const int coordinator_;
  TraceTracks step_tracks_;
  TraceTracks extracts_;
  TraceTracks rewards_;
  TrainerTimeline trainer_;
  WorkerTimelines workers_;
  std::map<std::pair<int64_t, int>, int64_t> prompts_;  // when each group's came
  std::map<TracedKey, TracedRollout> open_;
  int64_t flows_ = 0;
  int64_t rollouts_ = 0;
  int64_t first_us_ = 0;
  int64_t last_us_ = 0;
  int64_t step_begin_us_ = 0;  // no step that is drawn next was under way before
};

void RolloutTracer::On(const PromptEntry& e, int64_t at_us) {
  prompts_[{e.step, e.prompt.group_index()}] = at_us;
  trainer_.Prompt(e.step, at_us);
}

void RolloutTracer::On(const RolloutEntry& e, int64_t at_us) {
  const v1::Completion& completion = e.completion;
  const TracedKey key = {e.step, completion.group_index(), completion.sample()};
  if (e.step >= steps_.first && e.step <= steps_.last) ++rollouts_;
  std::optional<int64_t> prompt_us;
  const auto prompt = prompts_.find({e.step, completion.group_index()});
  if (prompt != prompts_.end()) prompt_us = prompt->second;
  TracedRollout& rollout = open_[key];
  rollout.flow = ++flows_;
  rollout.tokens = TokenCount(completion);
  const nlohmann::ordered_json args = {
      {"rollout", PlaceOf(key)},
      {"problem", plan_.ProblemOf(e.step, completion.group_index()).problem.id()},
      {"tokens", rollout.tokens},
      {"finish", v1::Completion::Finish_Name(completion.finish())}};
  const TraceTracks::Placed generated = trainer_.Completion(e.step, prompt_us, at_us, args);
  rollout.generated = generated.span;
  Through(generated, TraceFile::Flow::kBegin, &rollout);
  const int64_t ended_us = std::max(at_us, generated.span.end_us);
  Through(extracts_.AddPoint("extract", ended_us, {{"rollout", PlaceOf(key)}}),
          TraceFile::Flow::kStep, &rollout);
}

void RolloutTracer::On(const VerdictEntry& e, int64_t at_us) {
  const TracedKey key = {e.step, e.group_index, e.sample};
  const v1::Verdict& v = e.verdict;
  const auto found = open_.find(key);
  TracedRollout* const rollout = found == open_.end() ? nullptr : &found->second;
  const int64_t after_us = rollout == nullptr ? 0 : rollout->end_us;
  int64_t end_us = at_us;
  for (const TraceTracks::Placed& stage :
       workers_.Draw(v, PlaceOf(key), /*again=*/"", after_us, at_us)) {
    if (rollout != nullptr) Through(stage, TraceFile::Flow::kStep, rollout);
    end_us = std::max(end_us, stage.span.end_us);
  }
  nlohmann::ordered_json args = {{"rollout", PlaceOf(key)},
                                 {"problem", plan_.ProblemOf(e.step, e.group_index).problem.id()},
                                 {"outcome", v1::Outcome_Name(v.outcome())},
                                 {"reward", NumberOrNull(e.reward)},
                                 {"dropped", e.dropped},
                                 {"cached", v.cached()}};
  if (v.timed()) args["speedup"] = NumberOrNull(v.speedup());
  if (rollout != nullptr) {
    args["tokens"] = rollout->tokens;
    args["generate_ms"] =
        static_cast<double>(rollout->generated.end_us - rollout->generated.begin_us) / 1e3;
  }
  args["screen_ms"] = TraceMs(v.screen_s());
  args["compile_ms"] = TraceMs(v.compile_s());
  args["check_ms"] = TraceMs(v.check_s());
  args["time_ms"] = TraceMs(v.time_s());
  const TraceTracks::Placed reward =
      rewards_.AddPoint("reward", std::max({at_us, end_us, after_us}), args);
  if (rollout == nullptr) return;
  rollout->learned = !e.dropped && !IsEvaluation(e.step);
  Through(reward, rollout->learned ? TraceFile::Flow::kStep : TraceFile::Flow::kEnd, rollout);
}

// A challenger, measured again.
void RolloutTracer::On(const IncumbentEntry& e, int64_t at_us) {
  const std::string place = RolloutPlace(e.step, e.group_index, e.sample);
  workers_.Draw(e.verdict, place, " again", /*after_us=*/0, at_us);
  rewards_.AddPoint(e.accepted ? "new best" : "no new best", at_us,
                    {{"rollout", place},
                     {"problem", e.problem_id},
                     {"speedup", NumberOrNull(e.verdict.speedup())}});
}

void RolloutTracer::On(const UpdateEntry& e, int64_t at_us) {
  const bool grpo = e.name.phase() == v1::UpdateName::GRPO;
  const auto begin = open_.lower_bound({e.name.step(), 0, 0});
  const auto end = open_.lower_bound({e.name.step() + 1, 0, 0});
  int64_t rewarded_us = 0;
  for (auto it = begin; grpo && it != end; ++it) {
    rewarded_us = std::max(rewarded_us, it->second.end_us);
  }
  const std::optional<TraceTracks::Placed> update = trainer_.Update(e, rewarded_us, at_us);
  for (auto it = begin; grpo && update && it != end; ++it) {
    if (it->second.learned) Through(*update, TraceFile::Flow::kEnd, &it->second);
  }
  DrawStep(e.name, e.row, "time/step", at_us);
  if (grpo) Forget(e.name.step());
}

void RolloutTracer::On(const EvaluationEntry& e, int64_t at_us) {
  DrawStep(e.name, e.row, "eval/time/step", at_us);
  Forget(-e.name.step());
}

void RolloutTracer::DrawStep(const v1::UpdateName& name, const std::map<std::string, double>& row,
                             const char* seconds, int64_t at_us) {
  const auto took_s = row.find(seconds);
  if (took_s == row.end()) return;
  nlohmann::ordered_json args = nlohmann::ordered_json::object();
  for (const auto& [key, value] : row) args[key] = NumberOrNull(value);
  const int64_t begin_us = at_us - static_cast<int64_t>(1e6 * took_s->second);
  step_tracks_.Add(PhaseStep(name), {std::max(begin_us, step_begin_us_), at_us}, args);
  step_begin_us_ = at_us;
}

void RolloutTracer::Forget(int64_t step) {
  open_.erase(open_.lower_bound({step, 0, 0}), open_.lower_bound({step + 1, 0, 0}));
  prompts_.erase(prompts_.lower_bound({step, 0}), prompts_.lower_bound({step + 1, 0}));
}

// Reads how the workers' clocks differ.
absl::StatusOr<WorkerClocks> ReadClocks(const Journal& journal, const EntryRange& range) {
  WorkerClocks clocks;
  std::map<TracedKey, int64_t> arrived_us;
  RETURN_IF_ERROR(journal.ForEachIn(
      range, [&](const JournalEntry& entry, std::optional<int64_t> time_us) -> absl::Status {
        if (!time_us) {
          return absl::FailedPreconditionError(
              "these steps were recorded by a version of Whetstone that kept no times, so that "
              "there is nothing to draw");
        }
        if (const auto* r = std::get_if<RolloutEntry>(&entry)) {
          arrived_us[{r->step, r->completion.group_index(), r->completion.sample()}] = *time_us;
        } else if (const auto* v = std::get_if<VerdictEntry>(&entry)) {
          const auto arrived = arrived_us.extract({v->step, v->group_index, v->sample});
          clocks.Add(v->verdict, arrived ? std::optional(arrived.mapped()) : std::nullopt,
                     *time_us);
        } else if (const auto* i = std::get_if<IncumbentEntry>(&entry)) {
          clocks.Add(i->verdict, std::nullopt, *time_us);
        }
        return absl::OkStatus();
      }));
  return clocks;
}

}  // namespace

absl::StatusOr<TracedSteps> ParseTracedSteps(absl::string_view text) {
  const absl::Status wrong = absl::InvalidArgumentError(
      absl::StrCat("'", text,
                   "' names no steps: write 12, 12..14 for several, or eval-10 for the evaluation "
                   "after ten steps"));
  TracedSteps steps;
  absl::string_view number = text;
  if (absl::ConsumePrefix(&number, "eval-")) {
    if (!absl::SimpleAtoi(number, &steps.first) || steps.first < 0) return wrong;
    steps.first = steps.last = -steps.first;
    return steps;
  }
  const std::vector<absl::string_view> ends = absl::StrSplit(text, absl::MaxSplits("..", 1));
  if (!absl::SimpleAtoi(ends.front(), &steps.first) ||
      !absl::SimpleAtoi(ends.back(), &steps.last) || steps.first < 1 || steps.last < steps.first) {
    return wrong;
  }
  return steps;
}

absl::StatusOr<TraceCounts> TraceSteps(const CampaignPlan& plan, const Journal& journal,
                                       const TracedSteps& steps, const std::string& path,
                                       const std::function<void(const TraceCounts&)>& progress) {
  ASSIGN_OR_RETURN(const EntryRange range, journal.FindSteps(steps.first, steps.last));
  ASSIGN_OR_RETURN(const WorkerClocks clocks, ReadClocks(journal, range));
  TraceFile trace(path);
  RETURN_IF_ERROR(trace.Open());
  RolloutTracer tracer(plan, steps, clocks, &trace);
  int64_t entries = 0;
  RETURN_IF_ERROR(journal.ForEachIn(
      range, [&](const JournalEntry& entry, std::optional<int64_t> time_us) -> absl::Status {
        tracer.Draw(entry, *time_us);
        if (++entries % kProgressEvery == 0) progress(tracer.counts());
        return trace.status();
      }));
  tracer.End();
  RETURN_IF_ERROR(trace.Finish());
  return tracer.counts();
}

}  // namespace whetstone
