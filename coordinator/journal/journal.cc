#include "coordinator/journal/journal.h"

#include <sqlite3.h>

#include <filesystem>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "coordinator/journal/journal_rows.h"
#include "coordinator/journal/sqlite_statement.h"

namespace whetstone {
namespace {

// Two numbers in the file's header tell `file` and us what it is: "Whet", and the schema's version.
constexpr int64_t kApplicationId = 0x57686574;
constexpr int64_t kSchemaVersion = 2;

// kMigrations[v - 1] turns version v into v + 1.
constexpr const char* kMigrations[] = {
    // Version 1 had its number in `meta` and no mark in the header.
    "DELETE FROM meta WHERE key = 'schema_version';",
};
static_assert(std::size(kMigrations) == kSchemaVersion - 1);

std::string Mark() {
  return absl::StrCat("PRAGMA application_id=", kApplicationId,
                      "; PRAGMA user_version=", kSchemaVersion, ";");
}

}  // namespace

absl::Status Journal::Error(int code, absl::string_view what) const {
  return SqliteError(db_, code, absl::StrCat(what, " ", path_));
}

absl::Status Journal::Execute(const char* sql) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code, "journal");
}

absl::Status Journal::OpenDatabase(int flags) {
  const int code = sqlite3_open_v2(path_.c_str(), &db_, flags, nullptr);
  if (code != SQLITE_OK) return Error(code, "cannot open the journal");
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_busy_timeout(db_, 5000);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::Create(const std::string& path,
                                                         const std::string& campaign_id) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return absl::AlreadyExistsError(absl::StrCat(path, " is already there"));
  }
  std::unique_ptr<Journal> journal(new Journal(path));
  RETURN_IF_ERROR(journal->OpenDatabase(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  RETURN_IF_ERROR(journal->Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"));
  RETURN_IF_ERROR(journal->Execute("BEGIN"));
  RETURN_IF_ERROR(journal->Execute(kJournalSchema));
  RETURN_IF_ERROR(Statement(journal->db_, "INSERT INTO meta VALUES ('campaign_id', ?)")
                      .Text(campaign_id)
                      .Run());
  RETURN_IF_ERROR(journal->Execute(Mark().c_str()));
  RETURN_IF_ERROR(journal->Execute("COMMIT"));
  journal->campaign_id_ = campaign_id;
  return journal;
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(const std::string& path, bool read_only) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return absl::NotFoundError(absl::StrCat("no journal at ", path));
  }
  std::unique_ptr<Journal> journal(new Journal(path));
  RETURN_IF_ERROR(journal->OpenDatabase(read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE));
  ASSIGN_OR_RETURN(const int64_t version, journal->Identify());
  if (!read_only) {
    RETURN_IF_ERROR(journal->Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"));
    RETURN_IF_ERROR(journal->CheckPages());
    RETURN_IF_ERROR(journal->Migrate(version));
  }
  RETURN_IF_ERROR(journal->Damaged(journal->ReadNextSeq()));
  return journal;
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
  std::map<std::string, std::string> meta;
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
  campaign_id_ = meta["campaign_id"];
  return version;
}

absl::Status Journal::CheckPages() {
  Statement check(db_, "PRAGMA quick_check(1)");
  const absl::StatusOr<bool> row = check.Step();
  const std::string result = row.ok() ? check.Bytes(0) : std::string(row.status().message());
  if (row.ok() && result == "ok") return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path_, " is damaged: ", result,
                   "; restore it (with its -wal file) from a back-up, or start a new run from the "
                   "newest checkpoint"));
}

absl::Status Journal::Migrate(int64_t version) {
  if (version == kSchemaVersion) return absl::OkStatus();
  absl::Status status = Execute("BEGIN IMMEDIATE");
  for (int64_t v = version; v < kSchemaVersion && status.ok(); ++v) {
    status = Execute(kMigrations[v - 1]);
  }
  if (status.ok()) status = Execute(Mark().c_str());
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

absl::Status Journal::ReadNextSeq() {
  for (const char* sql : {"SELECT max(seq) FROM prompts", "SELECT max(seq) FROM rollouts",
                          "SELECT max(seq) FROM verdicts", "SELECT max(seq) FROM leaders",
                          "SELECT max(seq) FROM updates", "SELECT max(seq) FROM checkpoints",
                          "SELECT max(seq) FROM calibrations"}) {
    Statement read(db_, sql);
    ASSIGN_OR_RETURN(const bool row, read.Step());
    if (row) next_seq_ = std::max(next_seq_, read.Int(0) + 1);
  }
  return absl::OkStatus();
}

Journal::Journal(std::string path) : path_(std::move(path)) {}

Journal::~Journal() {
  writer_.reset();
  sqlite3_close(db_);
}

absl::Status Journal::Append(const std::vector<JournalEntry>& entries) {
  if (entries.empty()) return absl::OkStatus();
  const int64_t first = next_seq_;
  absl::Status status = Execute("BEGIN IMMEDIATE");
  if (writer_ == nullptr) writer_ = std::make_unique<RowWriter>(db_);
  for (const JournalEntry& entry : entries) {
    if (!status.ok()) break;
    status = writer_->Write(next_seq_++, entry);
  }
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) {
    next_seq_ = first;
    writer_.reset();
    // The rollback is best effort: the error before it is what counts.
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    return absl::Status(status.code(),
                        absl::StrCat("cannot write ", path_, ": ", status.message()));
  }
  return absl::OkStatus();
}

absl::Status Journal::Damaged(const absl::Status& status) const {
  if (!absl::IsDataLoss(status)) return status;
  return absl::DataLossError(
      absl::StrCat(absl::StrContains(status.message(), path_) ? "" : absl::StrCat(path_, ": "),
                   status.message(), "; restore it (with its -wal file) from a back-up"));
}

absl::Status Journal::ForEach(const std::function<absl::Status(const JournalEntry&)>& visit) const {
  const std::vector<std::unique_ptr<RowReader>> readers = MakeRowReaders(db_);
  for (const auto& reader : readers) RETURN_IF_ERROR(Damaged(reader->Advance()));
  int64_t seq = 0;
  while (true) {
    RowReader* first = nullptr;
    for (const auto& reader : readers) {
      if (reader->more() && (first == nullptr || reader->seq() < first->seq())) {
        first = reader.get();
      }
    }
    if (first == nullptr) return absl::OkStatus();
    if (first->seq() != ++seq) {
      return absl::DataLossError(absl::StrCat(path_, " is incomplete: entry ", seq,
                                              " is missing; restore it from a back-up"));
    }
    const absl::StatusOr<JournalEntry> entry = first->Get();
    RETURN_IF_ERROR(Damaged(entry.status()));
    RETURN_IF_ERROR(Damaged(visit(*entry)));
    RETURN_IF_ERROR(Damaged(first->Advance()));
  }
}

absl::StatusOr<v1::UpdateRequest> Journal::FindUpdateRequest(const v1::UpdateName& name) const {
  Statement read(db_, "SELECT request FROM updates WHERE phase = ? AND step = ?");
  read.Bind(int64_t{name.phase()}).Bind(int64_t{name.step()});
  ASSIGN_OR_RETURN(const bool found, read.Step());
  if (!found) {
    return absl::NotFoundError(absl::StrCat(
        path_, " holds no update ", v1::UpdateName::Phase_Name(name.phase()), " ", name.step()));
  }
  v1::UpdateRequest request;
  RETURN_IF_ERROR(read.Parse(0, &request));
  return request;
}

absl::Status Journal::ForEachRow(
    const std::function<void(const v1::UpdateName&, const std::map<std::string, double>&)>& visit)
    const {
  Statement read(db_, "SELECT phase, step, row FROM updates ORDER BY seq");
  while (true) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return absl::OkStatus();
    v1::UpdateName name;
    name.set_phase(static_cast<v1::UpdateName::Phase>(read.Int(0)));
    name.set_step(read.Int(1));
    ASSIGN_OR_RETURN(const auto row, ParseMetricsRow(read.Bytes(2)));
    visit(name, row);
  }
}

absl::Status Journal::ForEachNewestVerdict(
    int64_t count, const std::function<void(const VerdictEntry&)>& visit) const {
  Statement read(db_,
                 "SELECT step, grp, sample, reward, dropped, proto FROM verdicts "
                 "ORDER BY seq DESC LIMIT ?");
  read.Bind(count);
  while (true) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return absl::OkStatus();
    VerdictEntry entry;
    entry.step = read.Int(0);
    entry.group_index = static_cast<int>(read.Int(1));
    entry.sample = static_cast<int>(read.Int(2));
    entry.reward = read.Double(3);
    entry.dropped = read.Int(4) != 0;
    RETURN_IF_ERROR(read.Parse(5, &entry.verdict));
    visit(entry);
  }
}

absl::StatusOr<v1::Completion> Journal::FindCompletion(int64_t step, int group_index,
                                                       int sample) const {
  Statement read(db_, "SELECT proto FROM rollouts WHERE step = ? AND grp = ? AND sample = ?");
  read.Bind(step).Bind(int64_t{group_index}).Bind(int64_t{sample});
  ASSIGN_OR_RETURN(const bool found, read.Step());
  if (!found) {
    return absl::NotFoundError(absl::StrCat(path_, " holds no rollout of step ", step, ", group ",
                                            group_index, ", sample ", sample));
  }
  v1::Completion completion;
  RETURN_IF_ERROR(read.Parse(0, &completion));
  return completion;
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
