// Journal's ways to a moment of a campaign that do not begin with its first entry.
#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/durable/request_builders.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/journal_rows.h"
#include "coordinator/journal/journal_tables.h"

namespace whetstone {
namespace {

constexpr int kSnapshotsKept = 2;

// Lets all reads of its life see one state of the file, whatever a writer beside it appends.
class OneState {
 public:
  explicit OneState(sqlite3* db) : db_(db) {
    sqlite3_exec(db_, "BEGIN", nullptr, nullptr, nullptr);
  }
  ~OneState() { sqlite3_exec(db_, "COMMIT", nullptr, nullptr, nullptr); }
  OneState(const OneState&) = delete;
  OneState& operator=(const OneState&) = delete;

 private:
  sqlite3* const db_;
};

absl::Status CheckAndApply(const JournalEntry& entry, DurableState* state) {
  RETURN_IF_ERROR(state->Check(entry));
  state->Apply(entry);
  return absl::OkStatus();
}

// Visits the entries of a step, up to `seq`.
absl::Status ApplyStep(const JournalFile& file, int64_t step, int64_t seq, DurableState* state) {
  return VisitInOrder(ReadersOfStep(file, step, seq), [&](const RowReader& reader) -> absl::Status {
    ASSIGN_OR_RETURN(const JournalEntry entry, reader.Get());
    return CheckAndApply(entry, state);
  });
}

}  // namespace

absl::Status Journal::WriteSnapshot(v1::StateSnapshot snapshot, int64_t seq, int64_t time_us) {
  for (v1::SnapshotCheckpoint& checkpoint : *snapshot.mutable_checkpoints()) {
    checkpoint.set_path(file().Relative(checkpoint.path()));
  }
  RETURN_IF_ERROR(
      Statement(db_, InsertRow(kSnapshots).c_str()).Bind(seq).Bind(time_us).Proto(snapshot).Run());
  return Execute(absl::StrCat("DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots "
                              "ORDER BY seq DESC LIMIT ",
                              kSnapshotsKept, ")")
                     .c_str());
}

absl::StatusOr<DurableState> Journal::StateAt(const CampaignPlan& plan, v1::StateSnapshot snapshot,
                                              int64_t seq) const {
  for (v1::SnapshotCheckpoint& checkpoint : *snapshot.mutable_checkpoints()) {
    checkpoint.set_path(file().Absolute(checkpoint.path()));
  }
  ASSIGN_OR_RETURN(DurableState state, DurableState::BeginRestore(&plan, snapshot));
  for (const StepRecord& step : state.open_steps()) {
    RETURN_IF_ERROR(ApplyStep(file(), step.step, seq, &state));
  }
  RETURN_IF_ERROR(state.FinishRestore(snapshot));
  return state;
}

absl::StatusOr<DurableState> Journal::Restore(const CampaignPlan& plan) const {
  const OneState one_state(db_);
  ASSIGN_OR_RETURN(const int64_t last, LastSeq(file()));
  return StateAfter(plan, last);
}

absl::StatusOr<DurableState> Journal::StateAfter(const CampaignPlan& plan, int64_t last) const {
  int64_t seq = 0;
  DurableState state(&plan);
  // A snapshot that can't be used costs time only: the one before it can, or all entries.
  Statement read(db_, SelectRows(kSnapshots, "ORDER BY seq DESC").c_str());
  for (absl::StatusOr<bool> more = read.Step(); seq == 0 && more.ok() && *more;
       more = read.Step()) {
    v1::StateSnapshot snapshot;
    const bool whole = read.Int(3) == 1 && read.Int(0) <= last && read.Parse(2, &snapshot).ok();
    if (!whole) continue;
    absl::StatusOr<DurableState> restored = StateAt(plan, std::move(snapshot), read.Int(0));
    if (!restored.ok()) continue;
    seq = read.Int(0);
    state = *std::move(restored);
  }
  int64_t next = seq + 1;
  const absl::Status visited =
      VisitAfter(file(), seq, [&](const JournalEntry& entry) -> absl::Status {
        if (next++ > last) return absl::CancelledError();  // What comes later is not looked at.
        return CheckAndApply(entry, &state);
      });
  if (!absl::IsCancelled(visited)) RETURN_IF_ERROR(Damaged(visited));
  return state;
}

absl::StatusOr<StepRecord> Journal::FindStep(const CampaignPlan& plan, int64_t step) const {
  const OneState one_state(db_);
  const v1::UpdateName name = StepName(step);
  int64_t last = 0;
  for (const char* table : {"rollouts", "verdicts"}) {
    Statement newest(db_, absl::StrCat("SELECT max(seq) FROM ", table, " WHERE step = ?").c_str());
    ASSIGN_OR_RETURN(const bool row, newest.Bind(step).Step());
    if (row) last = std::max(last, newest.Int(0));
  }
  if (last == 0) {
    return absl::NotFoundError(absl::StrCat(path_, " holds no rollout of ", PhaseStep(name)));
  }
  const bool evaluation = IsEvaluation(step);
  DurableState state(&plan, plan.PositionOf(name) - (evaluation ? 0 : 1), !evaluation);
  if (!evaluation && Searches(plan.CampaignAt(step))) {
    ASSIGN_OR_RETURN(state, StateAfter(plan, last));
  } else {
    RETURN_IF_ERROR(Damaged(ApplyStep(file(), step, last, &state)));
  }
  return *state.FindStep(step);
}

absl::StatusOr<EntryRange> Journal::FindSteps(int64_t first, int64_t last) const {
  const OneState one_state(db_);
  const auto number = [this](const std::string& sql,
                             const std::vector<int64_t>& values) -> absl::StatusOr<int64_t> {
    Statement read(db_, sql.c_str());
    for (const int64_t value : values) read.Bind(value);
    ASSIGN_OR_RETURN(const bool row, read.Step());
    return row ? read.Int(0) : 0;  // NULL is 0
  };
  constexpr char kOfSteps[] = " WHERE step BETWEEN ?1 AND ?2";
  int64_t begin = 0;
  EntryRange range;
  for (const char* table : {"prompts", "rollouts", "verdicts", "leaders"}) {
    const std::string from = absl::StrCat(" FROM ", table, kOfSteps);
    ASSIGN_OR_RETURN(const int64_t oldest, number("SELECT min(seq)" + from, {first, last}));
    ASSIGN_OR_RETURN(const int64_t newest, number("SELECT max(seq)" + from, {first, last}));
    if (oldest > 0 && (begin == 0 || oldest < begin)) begin = oldest;
    range.last = std::max(range.last, newest);
  }
  const v1::UpdateName name = StepName(first);
  if (begin == 0) {
    ASSIGN_OR_RETURN(const int64_t newest, number("SELECT max(step) FROM rollouts", {}));
    return absl::NotFoundError(absl::StrCat(
        path_, " holds no rollout of ", PhaseStep(name),
        first == last ? "" : absl::StrCat(" to ", last),
        newest > 0 ? absl::StrCat("; the newest are of step ", newest) : "; no step has begun"));
  }
  const int64_t phase = name.phase(), end = StepName(last).step();
  for (const char* table : {"updates", "checkpoints"}) {
    ASSIGN_OR_RETURN(const int64_t newest, number(absl::StrCat("SELECT max(seq) FROM ", table,
                                                               kOfSteps, " AND phase = ?3"),
                                                  {name.step(), end, phase}));
    range.last = std::max(range.last, newest);
  }
  ASSIGN_OR_RETURN(const int64_t before,
                   number("SELECT max(seq) FROM updates WHERE seq < ?1", {begin}));
  range.first = std::max<int64_t>(before, 1);
  return range;
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::ForkTo(const std::string& path,
                                                         const v1::UpdateName& checkpoint) const {
  int64_t seq = 0;
  {
    Statement saved(db_, "SELECT max(seq) FROM checkpoints WHERE phase = ? AND step = ?");
    ASSIGN_OR_RETURN(const bool row,
                     saved.Bind(int64_t{checkpoint.phase()}).Bind(checkpoint.step()).Step());
    if (row) seq = saved.Int(0);
  }
  if (seq == 0) {
    return absl::NotFoundError(
        absl::StrCat(path_, " holds no checkpoint of ", PhaseStep(checkpoint)));
  }
  RETURN_IF_ERROR(Statement(db_, "VACUUM INTO ?").Text(path).Run());
  ASSIGN_OR_RETURN(std::unique_ptr<Journal> fork, Journal::Open(path));
  std::string sql = "BEGIN;";
  const auto cut = [&](const JournalTable& table) {
    absl::StrAppend(&sql, "DELETE FROM ", table.name, " WHERE seq > ", seq, ";");
  };
  for (const JournalTable* table : kJournalTables) cut(*table);
  cut(kSnapshots);
  RETURN_IF_ERROR(fork->Execute((sql + "COMMIT").c_str()));
  RETURN_IF_ERROR(fork->ReadPosition());
  return fork;
}

absl::StatusOr<v1::UpdateRequest> Journal::FindUpdateRequest(const CampaignPlan& plan,
                                                             const v1::UpdateName& name) const {
  const std::unique_ptr<RowReader> update = ReaderOfUpdate(file(), name);
  RETURN_IF_ERROR(update->Advance());
  if (!update->more()) {
    return absl::NotFoundError(absl::StrCat(
        path_, " holds no update ", v1::UpdateName::Phase_Name(name.phase()), " ", name.step()));
  }
  ASSIGN_OR_RETURN(const JournalEntry entry, update->Get());
  if (plan.campaign.train().imitation().size() > 0) {
    // What is imitated follows from all steps before.
    const OneState one_state(db_);
    ASSIGN_OR_RETURN(const DurableState all_before, StateAfter(plan, update->seq() - 1));
    return RecordedRequest(plan, all_before, std::get<UpdateEntry>(entry),
                           plan.campaign.deterministic());
  }
  // Without, the request depends on its own step only.
  DurableState before(&plan, plan.PositionOf(name) - 1, /*evaluated=*/true);
  if (before.step() > 0) {
    RETURN_IF_ERROR(ApplyStep(file(), before.step(), update->seq(), &before));
  }
  return RecordedRequest(plan, before, std::get<UpdateEntry>(entry), plan.campaign.deterministic());
}

}  // namespace whetstone
