#include "coordinator/report/export.h"

#include <nlohmann/json.hpp>
#include <variant>

#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/durable/step_record.h"
#include "coordinator/durable/step_row.h"
#include "coordinator/report/lines_file.h"
#include "coordinator/report/verdict_json.h"

namespace whetstone {
namespace {

constexpr int64_t kToldEvery = 1000;

nlohmann::ordered_json PlaceColumns(const CampaignPlan& plan, int64_t step, int group_index,
                                    int sample) {
  return {{"rollout", RolloutPlace(step, group_index, sample)},
          {"evaluation", IsEvaluation(step)},
          {"step", IsEvaluation(step) ? -step : step},
          {"group", group_index},
          {"sample", sample},
          {"problem", plan.ProblemOf(step, group_index).problem.id()}};
}

nlohmann::ordered_json RolloutRow(const CampaignPlan& plan, const RolloutEntry& entry) {
  const v1::Completion& completion = entry.completion;
  nlohmann::ordered_json row =
      PlaceColumns(plan, entry.step, completion.group_index(), completion.sample());
  row["finish"] = v1::Completion::Finish_Name(completion.finish());
  row["tokens"] = TokenCount(completion);
  row["text"] = completion.text();
  row["ids"] = completion.ids();
  row["logprobs"] = nlohmann::ordered_json::array();
  for (const float logprob : completion.sampling_logprobs()) {
    row["logprobs"].push_back(NumberOrNull(logprob));
  }
  return row;
}

nlohmann::ordered_json VerdictRow(const CampaignPlan& plan, const VerdictEntry& entry) {
  nlohmann::ordered_json row = PlaceColumns(plan, entry.step, entry.group_index, entry.sample);
  row["dropped"] = entry.dropped;
  row.update(VerdictJson(entry.verdict));
  row["reward"] = NumberOrNull(entry.reward);
  return row;
}

}  // namespace

absl::StatusOr<ExportCounts> ExportRun(const CampaignPlan& plan, const Journal& journal,
                                       const std::string& folder,
                                       const std::function<void(const ExportCounts&)>& progress) {
  RETURN_IF_ERROR(MakeDirectories(folder));
  LinesFile rollouts(folder + "/rollouts.jsonl");
  LinesFile verdicts(folder + "/verdicts.jsonl");
  LinesFile metrics(folder + "/metrics.jsonl");
  for (LinesFile* file : {&rollouts, &verdicts, &metrics}) RETURN_IF_ERROR(file->Open());
  ExportCounts counts;
  RETURN_IF_ERROR(journal.ForEach([&](const JournalEntry& entry) -> absl::Status {
    if (const auto* rollout = std::get_if<RolloutEntry>(&entry)) {
      ++counts.rollouts;
      return rollouts.AddObject(RolloutRow(plan, *rollout));
    }
    if (const auto* verdict = std::get_if<VerdictEntry>(&entry)) {
      if (++counts.verdicts % kToldEvery == 0) progress(counts);
      return verdicts.AddObject(VerdictRow(plan, *verdict));
    }
    return absl::OkStatus();
  }));
  absl::Status status;
  RETURN_IF_ERROR(journal.ForEachRow([&](const MetricsRow& row) {
    ++counts.metrics;
    status.Update(metrics.AddLine(RowJson(row.name, row.time_us, row.values)));
  }));
  RETURN_IF_ERROR(status);
  for (LinesFile* file : {&rollouts, &verdicts, &metrics}) RETURN_IF_ERROR(file->Finish());
  return counts;
}

}  // namespace whetstone
