#include "coordinator/trace/trainer_timeline.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "coordinator/report/verdict_json.h"

namespace whetstone {
namespace {

// Returns how many samples each group of the step has.
int64_t SamplesOfGroup(const CampaignPlan& plan, int64_t step) {
  const v1::Campaign& campaign = plan.CampaignAt(step);
  return IsEvaluation(step) ? campaign.eval().samples() : campaign.train().group_size();
}

}  // namespace

TrainerTimeline::TrainerTimeline(const CampaignPlan* plan, TraceFile* trace)
    : plan_(plan),
      process_(trace->AddProcess("trainer")),
      policy_(trace, process_, "policy", 0, /*numbered=*/false),
      sequences_(trace, process_, "sequence", 1) {}

TraceTracks::Placed TrainerTimeline::Did(const std::string& name, TraceSpan span,
                                         const nlohmann::ordered_json& args) {
  span.begin_us = std::max(span.begin_us, free_us_);
  const TraceTracks::Placed placed = policy_.Add(name, span, args);
  free_us_ = placed.span.end_us;
  return placed;
}

void TrainerTimeline::EndRound() {
  if (!round_) return;
  Did(absl::StrCat("generate ", PhaseStep(StepName(round_->step))),
      {round_->begin_us, round_->end_us}, {{"completions", round_->completions}});
  round_.reset();
}

void TrainerTimeline::Prompt(int64_t step, int64_t at_us) {
  // Refills are a round of their own, which begins when all before are there.
  const bool complete =
      round_ && round_->completions >= round_->prompts * SamplesOfGroup(*plan_, step);
  if (round_ && (round_->step != step || complete)) EndRound();
  if (!round_) round_ = Round{step, at_us, at_us, 0, 0};
  ++round_->prompts;
}

TraceTracks::Placed TrainerTimeline::Completion(int64_t step, std::optional<int64_t> prompt_us,
                                                int64_t at_us, const nlohmann::ordered_json& args) {
  const int64_t begin_us =
      std::max(prompt_us.value_or(free_us_ > 0 ? free_us_ : at_us), resumed_us_);
  if (round_ && round_->step != step) EndRound();
  if (!round_) round_ = Round{step, begin_us, at_us, 0, 0};
  ++round_->completions;
  round_->end_us = at_us;
  return sequences_.Add("generate", {begin_us, at_us}, args);
}

std::optional<TraceTracks::Placed> TrainerTimeline::Update(const UpdateEntry& entry,
                                                           int64_t not_before_us, int64_t at_us) {
  EndRound();
  const auto took_s = entry.row.find("time/update");
  if (took_s == entry.row.end() || took_s->second <= 0) return std::nullopt;
  nlohmann::ordered_json args = {{"applied", entry.response.applied()}};
  for (const char* key : {"loss", "grad_norm", "lr"}) {
    const auto value = entry.row.find(key);
    if (value != entry.row.end()) args[key] = NumberOrNull(value->second);
  }
  const int64_t begin_us = at_us - static_cast<int64_t>(1e6 * took_s->second);
  return Did(absl::StrCat("update ", PhaseStep(entry.name)),
             {std::max(begin_us, not_before_us), at_us}, args);
}

// A checkpoint is due as soon as its update is done.
void TrainerTimeline::Checkpoint(const CheckpointEntry& entry, int64_t at_us) {
  EndRound();
  Did(absl::StrCat("save ", PhaseStep(entry.name)), {free_us_ > 0 ? free_us_ : at_us, at_us},
      {{"path", entry.path}, {"bytes", entry.bytes}});
}

void TrainerTimeline::Start(int64_t at_us) {
  EndRound();
  free_us_ = std::max(free_us_, at_us);
  resumed_us_ = at_us;
  starting_ = true;
}

// How long a load took that no start came before, nobody knows.
void TrainerTimeline::Load(const LoadEntry& entry, int64_t at_us) {
  EndRound();
  Did(starting_ ? "start, load" : "load", {starting_ ? resumed_us_ : at_us, at_us},
      {{"path", entry.path}});
  resumed_us_ = at_us;
  starting_ = false;
}

}  // namespace whetstone
