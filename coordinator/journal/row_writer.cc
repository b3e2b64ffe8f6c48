#include <nlohmann/json.hpp>

#include "coordinator/durable/step_record.h"
#include "coordinator/journal/journal_rows.h"
#include "coordinator/journal/journal_tables.h"

namespace whetstone {
namespace {

int64_t SumOfSizes(const v1::Verdict& verdict, int32_t (v1::SizeResult::*count)() const) {
  int64_t sum = 0;
  for (const v1::SizeResult& size : verdict.sizes()) sum += (size.*count)();
  return sum;
}

}  // namespace

RowWriter::RowWriter(const JournalFile& file)
    : file_(file),
      prompts_(file.db, InsertRow(kPrompts).c_str()),
      rollouts_(file.db, InsertRow(kRollouts).c_str()),
      verdicts_(file.db, InsertRow(kVerdicts).c_str()),
      incumbents_(file.db, InsertRow(kLeaders).c_str()),
      updates_(file.db, InsertRow(kUpdates).c_str()),
      checkpoints_(file.db, InsertRow(kCheckpoints).c_str()),
      calibrations_(file.db, InsertRow(kCalibrations).c_str()),
      starts_(file.db, InsertRow(kStarts).c_str()),
      loads_(file.db, InsertRow(kLoads).c_str()),
      changes_(file.db, InsertRow(kChanges).c_str()) {}

absl::Status RowWriter::Write(int64_t seq, std::optional<int64_t> time_us,
                              const JournalEntry& entry) {
  seq_ = seq;
  time_us_ = time_us;
  return std::visit([&](const auto& e) { return Insert(e); }, entry);
}

Statement& RowWriter::Into(Statement& table) { return table.Bind(seq_).Bind(time_us_); }

absl::Status RowWriter::Insert(const PromptEntry& e) {
  return Into(prompts_).Bind(e.step).Bind(int64_t{e.prompt.group_index()}).Proto(e.prompt).Run();
}

absl::Status RowWriter::Insert(const RolloutEntry& e) {
  v1::Completion without_text = e.completion;
  without_text.clear_text();
  return Into(rollouts_)
      .Bind(e.step)
      .Bind(int64_t{e.completion.group_index()})
      .Bind(int64_t{e.completion.sample()})
      .Null()
      .Null()
      .Bind(int64_t{TokenCount(e.completion)})
      .Text(e.completion.text())
      .Proto(without_text)
      .Run();
}

absl::Status RowWriter::Insert(const VerdictEntry& e) {
  const v1::Verdict& v = e.verdict;
  Into(verdicts_)
      .Bind(e.step)
      .Bind(int64_t{e.group_index})
      .Bind(int64_t{e.sample})
      .Text(v1::Outcome_Name(v.outcome()))
      .Bind(e.reward)
      .Bind(int64_t{e.dropped});
  if (v.timed()) {
    verdicts_.Bind(v.speedup())
        .Bind(v.speedup_low())
        .Bind(v.speedup_high())
        .Bind(int64_t{v.process_pairs()})
        .Bind(SumOfSizes(v, &v1::SizeResult::pairs))
        .Bind(SumOfSizes(v, &v1::SizeResult::rounds_redone))
        .Bind(SumOfSizes(v, &v1::SizeResult::rounds_clock_changed))
        .Bind(SumOfSizes(v, &v1::SizeResult::rounds_core_shared))
        .Bind(SumOfSizes(v, &v1::SizeResult::pairs_core_shared));
  } else {
    for (int i = 0; i < 9; ++i) verdicts_.Null();
  }
  return verdicts_.Text(v.detail()).Proto(v).Run();
}

absl::Status RowWriter::Insert(const IncumbentEntry& e) {
  return Into(incumbents_)
      .Bind(e.step)
      .Bind(int64_t{e.group_index})
      .Bind(int64_t{e.sample})
      .Text(e.problem_id)
      .Bind(int64_t{e.accepted})
      .Bind(e.verdict.speedup())
      .Bind(e.verdict.speedup_low())
      .Bind(e.verdict.speedup_high())
      .Text(e.source)
      .Proto(e.verdict)
      .Run();
}

absl::Status RowWriter::Insert(const UpdateEntry& e) {
  Into(updates_)
      .Bind(int64_t{e.name.phase()})
      .Bind(int64_t{e.name.step()})
      .Bind(int64_t{e.response.applied()})
      .Null()
      .Text(nlohmann::json(e.row).dump());
  if (e.request) {
    updates_.Null().Proto(*e.request);
  } else {
    updates_.Text(e.request_hash).Null();
  }
  return updates_.Proto(e.response).Run();
}

absl::Status RowWriter::Insert(const EvaluationEntry& e) {
  return Into(updates_)
      .Bind(int64_t{e.name.phase()})
      .Bind(int64_t{e.name.step()})
      .Null()
      .Null()
      .Text(nlohmann::json(e.row).dump())
      .Null()
      .Null()
      .Null()
      .Run();
}

absl::Status RowWriter::Insert(const CheckpointEntry& e) {
  return Into(checkpoints_)
      .Bind(int64_t{e.name.phase()})
      .Bind(int64_t{e.name.step()})
      .Text(file_.Relative(e.path))
      .Text(e.checksum)
      .Bind(e.bytes)
      .Run();
}

absl::Status RowWriter::Insert(const CalibrationEntry& e) {
  return Into(calibrations_)
      .Text(e.host_id)
      .Text(e.problem_hash)
      .Bind(e.calibration.expert().speedup())
      .Bind(e.calibration.noise_band())
      .Proto(e.calibration)
      .Run();
}

absl::Status RowWriter::Insert(const StartEntry& e) {
  return Into(starts_).Text(e.host).Text(e.boot_id).Text(e.version).Run();
}

absl::Status RowWriter::Insert(const LoadEntry& e) {
  return Into(loads_)
      .Text(file_.Relative(e.path))
      .Text(e.trainer_version)
      .Text(e.trainer_host_id)
      .Text(e.model_sha256)
      .Null()
      .Null()
      .Run();
}

absl::Status RowWriter::Insert(const ChangeEntry& e) {
  return Into(changes_).Bind(e.step).Text(e.key).Text(e.before).Text(e.after).Run();
}

}  // namespace whetstone
