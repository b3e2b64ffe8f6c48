#include "coordinator/journal/journal.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/network_file_system.h"
#include "common/status_macros.h"
#include "coordinator/journal/journal_rows.h"
#include "coordinator/journal/journal_tables.h"
#include "coordinator/journal/row_crc.h"
#include "coordinator/journal/sqlite_statement.h"

namespace whetstone {
namespace {

// So long the writer waits for readers where there is no write-ahead log, and they for it. A copy
// that it waits for ends sooner (CopyToTemporary).
constexpr int kBusyMs = 60000;

// The schema before the table of changes.
constexpr int64_t kSchemaWithoutChanges = 3;

constexpr char kMetaTable[] = "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);";

}  // namespace

absl::Status Journal::Error(int code, absl::string_view what) const {
  return SqliteError(db_, code, absl::StrCat(what, " ", path_));
}

absl::Status Journal::Execute(const char* sql) const {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code, "journal");
}

absl::Status Journal::OpenDatabase(const std::string& name, int flags) {
  const int code = sqlite3_open_v2(name.c_str(), &db_, flags, nullptr);
  if (code != SQLITE_OK) return Error(code, "cannot open the journal");
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_busy_timeout(db_, kBusyMs);
  return AddRowCrc(db_);
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::Create(const std::string& path,
                                                         const std::string& campaign_id) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return absl::AlreadyExistsError(absl::StrCat(path, " is already there"));
  }
  std::unique_ptr<Journal> journal(new Journal(path));
  RETURN_IF_ERROR(journal->OpenDatabase(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  RETURN_IF_ERROR(journal->SetMode());
  RETURN_IF_ERROR(journal->Execute("BEGIN"));
  RETURN_IF_ERROR(journal->Execute(kMetaTable));
  RETURN_IF_ERROR(journal->Execute(kJournalSchema));
  RETURN_IF_ERROR(journal->Execute(absl::StrCat("CREATE ", kChangesTable).c_str()));
  RETURN_IF_ERROR(Statement(journal->db_, "INSERT INTO meta VALUES ('campaign_id', ?)")
                      .Text(campaign_id)
                      .Run());
  RETURN_IF_ERROR(journal->Execute(JournalMark().c_str()));
  RETURN_IF_ERROR(journal->Execute("COMMIT"));
  journal->facts_["campaign_id"] = campaign_id;
  return journal;
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(const std::string& path, bool read_only,
                                                       bool own_checkpoints) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return absl::NotFoundError(absl::StrCat("no journal at ", path));
  }
  std::unique_ptr<Journal> journal(new Journal(path));
  RETURN_IF_ERROR(read_only ? journal->OpenToRead() : journal->OpenToWrite());
  ASSIGN_OR_RETURN(int64_t version, journal->Identify());
  if (!read_only) RETURN_IF_ERROR(journal->SetMode());
  // Who reads for long would hold up the writer where there is no write-ahead log.
  if (read_only &&
      (version < kSchemaWithoutChanges || (!journal->copy_ && !NetworkFileSystem(path).empty()))) {
    RETURN_IF_ERROR(journal->CopyToTemporary());
    // Its writer may have brought it up to date in between.
    ASSIGN_OR_RETURN(version, journal->Identify());
  }
  if (read_only && version == kSchemaWithoutChanges) {
    // It has all tables but this one, which was empty.
    RETURN_IF_ERROR(journal->Execute(absl::StrCat("CREATE TEMP ", kChangesTable).c_str()));
    version = kSchemaVersion;
  }
  if (version < kSchemaVersion) RETURN_IF_ERROR(journal->Migrate(version, own_checkpoints));
  RETURN_IF_ERROR(journal->Damaged(journal->ReadPosition()));
  return journal;
}

bool Journal::IsEmpty(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return !error;
  Journal journal(path);
  if (!journal.OpenDatabase(path, SQLITE_OPEN_READWRITE).ok()) return false;
  Statement tables(journal.db_, "SELECT EXISTS(SELECT 1 FROM sqlite_master)");
  const absl::StatusOr<bool> row = tables.Step();
  return row.ok() && *row && tables.Int(0) == 0;
}

absl::StatusOr<int64_t> Journal::Identify() {
  const auto foreign = [this](absl::string_view why) {
    return absl::DataLossError(absl::StrCat(path_, " is not a campaign's journal: ", why));
  };
  const auto number = [this](const char* pragma) -> absl::StatusOr<int64_t> {
    Statement read(db_, pragma);
    RETURN_IF_ERROR(read.Step().status());
    return read.Int(0);
  };
  const absl::StatusOr<int64_t> id = number("PRAGMA application_id");
  if (!id.ok()) return foreign(id.status().message());
  ASSIGN_OR_RETURN(int64_t version, number("PRAGMA user_version"));
  if (*id != kApplicationId && *id != 0) {
    return foreign(absl::StrCat("it is the database of another program, application_id ", *id));
  }
  std::map<std::string, std::string> meta = {{"campaign_id", ""}};
  Statement read(db_, "SELECT key, value FROM meta");
  while (true) {
    const absl::StatusOr<bool> more = read.Step();
    if (!more.ok()) return foreign(more.status().message());
    if (!*more) break;
    meta[read.Bytes(0)] = read.Bytes(1);
  }
  if (*id == 0) {
    if (meta["schema_version"] != "1") return foreign("its header does not say so");
    version = 1;
  }
  if (version < 1 || version > kSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        path_, " has schema version ", version, "; this program reads versions 1 to ",
        kSchemaVersion, ": use the version of Whetstone that wrote it, or a newer one"));
  }
  facts_ = std::move(meta);
  return version;
}

std::string Journal::Fact(const std::string& key) const {
  const auto fact = facts_.find(key);
  return fact == facts_.end() ? "" : fact->second;
}

absl::Status Journal::SetFacts(const std::map<std::string, std::string>& facts) {
  absl::Status status = Execute("BEGIN IMMEDIATE");
  for (const auto& [key, value] : facts) {
    if (!status.ok()) break;
    status =
        Statement(db_, "INSERT OR REPLACE INTO meta VALUES (?, ?)").Text(key).Text(value).Run();
  }
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) {
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    return status;
  }
  for (const auto& [key, value] : facts) facts_[key] = value;
  return absl::OkStatus();
}

absl::Status Journal::ReadPosition() {
  ASSIGN_OR_RETURN(const int64_t last, LastSeq(file()));
  next_seq_ = last + 1;
  Statement read(db_, "SELECT max(seq) FROM snapshots");
  ASSIGN_OR_RETURN(const bool row, read.Step());
  if (row) snapshot_seq_ = read.Int(0);
  return absl::OkStatus();
}

JournalFile Journal::file() const { return {db_, path_}; }

Journal::Journal(std::string path) : path_(std::move(path)) {}

Journal::~Journal() {
  writer_.reset();
  sqlite3_close(db_);
}

absl::Status Journal::Append(const std::vector<JournalEntry>& entries, int64_t time_us,
                             const std::optional<v1::StateSnapshot>& snapshot) {
  if (entries.empty()) return absl::OkStatus();
  const int64_t first = next_seq_;
  absl::Status status = Execute("BEGIN IMMEDIATE");
  if (writer_ == nullptr) writer_ = std::make_unique<RowWriter>(file());
  for (const JournalEntry& entry : entries) {
    if (!status.ok()) break;
    status = writer_->Write(next_seq_++, time_us, entry);
  }
  if (status.ok() && snapshot) status = WriteSnapshot(*snapshot, next_seq_ - 1, time_us);
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) {
    next_seq_ = first;
    writer_.reset();
    // The rollback is best effort: the error before it is what counts.
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    return absl::Status(status.code(),
                        absl::StrCat("cannot write ", path_, ": ", status.message()));
  }
  if (snapshot) snapshot_seq_ = next_seq_ - 1;
  return absl::OkStatus();
}

absl::Status Journal::Damaged(const absl::Status& status) const {
  if (!absl::IsDataLoss(status) || absl::StrContains(status.message(), "restore ")) return status;
  return absl::DataLossError(
      absl::StrCat(absl::StrContains(status.message(), path_) ? "" : absl::StrCat(path_, ": "),
                   status.message(), "; restore it (with its -wal file) from a back-up"));
}

absl::Status Journal::ForEach(const std::function<absl::Status(const JournalEntry&)>& visit) const {
  return Damaged(VisitAfter(file(), 0, visit));
}

absl::Status Journal::ForEachIn(
    const EntryRange& range,
    const std::function<absl::Status(const JournalEntry&, std::optional<int64_t> time_us)>& visit)
    const {
  return Damaged(VisitRange(file(), range, visit));
}

absl::Status Journal::ForEachRow(const std::function<void(const MetricsRow&)>& visit) const {
  Statement read(db_, SelectRows(kUpdates, "ORDER BY seq").c_str());
  while (true) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return absl::OkStatus();
    if (read.Int(read.columns() - 1) != 1) return DamagedRow(file(), kUpdates.name, read.Int(0));
    MetricsRow row;
    if (!read.IsNull(1)) row.time_us = read.Int(1);
    row.name.set_phase(static_cast<v1::UpdateName::Phase>(read.Int(2)));
    row.name.set_step(read.Int(3));
    absl::StatusOr<std::map<std::string, double>> values = ParseMetricsRow(read.Bytes(6));
    RETURN_IF_ERROR(Damaged(values.status()));
    row.values = *std::move(values);
    visit(row);
  }
}

absl::StatusOr<std::vector<RecordedChange>> Journal::Changes() const {
  std::vector<RecordedChange> changes;
  Statement read(db_, SelectRows(kChanges, "ORDER BY seq").c_str());
  while (true) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return changes;
    if (read.Int(6) != 1) return Damaged(DamagedRow(file(), kChanges.name, read.Int(0)));
    changes.push_back(
        {{read.Int(2), read.Bytes(3), read.Bytes(4), read.Bytes(5)}, /*time_us=*/read.Int(1)});
  }
}

absl::Status Journal::ForEachNewestVerdict(
    int64_t count, const std::function<void(const VerdictEntry&)>& visit) const {
  const std::unique_ptr<RowReader> reader = ReaderOfNewestVerdicts(file(), count);
  while (true) {
    RETURN_IF_ERROR(Damaged(reader->Advance()));
    if (!reader->more()) return absl::OkStatus();
    const absl::StatusOr<JournalEntry> entry = reader->Get();
    RETURN_IF_ERROR(Damaged(entry.status()));
    visit(std::get<VerdictEntry>(*entry));
  }
}

absl::StatusOr<v1::Completion> Journal::FindCompletion(int64_t step, int group_index,
                                                       int sample) const {
  const std::unique_ptr<RowReader> reader = ReaderOfRollout(file(), step, group_index, sample);
  RETURN_IF_ERROR(Damaged(reader->Advance()));
  if (!reader->more()) {
    return absl::NotFoundError(absl::StrCat(path_, " holds no rollout of step ", step, ", group ",
                                            group_index, ", sample ", sample));
  }
  absl::StatusOr<JournalEntry> entry = reader->Get();
  RETURN_IF_ERROR(Damaged(entry.status()));
  return std::move(std::get<RolloutEntry>(*entry).completion);
}

absl::StatusOr<std::optional<int64_t>> Journal::LastTimeUs() const {
  std::optional<int64_t> last_us;
  for (const JournalTable* table : kJournalTables) {
    Statement read(
        db_,
        absl::StrCat("SELECT time_us FROM ", table->name, " ORDER BY seq DESC LIMIT 1").c_str());
    ASSIGN_OR_RETURN(const bool row, read.Step());
    if (row && !read.IsNull(0)) last_us = std::max(last_us.value_or(0), read.Int(0));
  }
  return last_us;
}

absl::StatusOr<std::string> Journal::FirstCheckpoint() const {
  Statement read(db_, "SELECT path FROM checkpoints ORDER BY seq LIMIT 1");
  ASSIGN_OR_RETURN(const bool row, read.Step());
  return row ? file().Absolute(read.Bytes(0)) : "";
}

absl::StatusOr<bool> Journal::HasProgress() const {
  Statement read(db_, "SELECT EXISTS(SELECT 1 FROM rollouts) OR EXISTS(SELECT 1 FROM updates)");
  ASSIGN_OR_RETURN(const bool row, read.Step());
  return row && read.Int(0) != 0;
}

absl::Status Journal::TEST_LimitPages(int pages) {
  return Execute(absl::StrCat("PRAGMA max_page_count=", pages).c_str());
}

}  // namespace whetstone
