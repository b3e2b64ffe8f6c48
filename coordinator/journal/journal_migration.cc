// Journal's dealings with files of older versions.
#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/journal_rows.h"
#include "coordinator/journal/journal_tables.h"
#include "coordinator/journal/row_crc.h"

namespace whetstone {
namespace {

constexpr std::chrono::seconds kHoldUpMax{10};
constexpr int kPagesAtOnce = 256;

// Whether a transaction is open that has changed something: without a write-ahead log, what it has
// to take back is in this file until it is committed.
bool WriterWaits(const std::string& path) {
  std::error_code error;
  return std::filesystem::file_size(path + "-journal", error) > 0 && !error;
}

}  // namespace

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

// SQLite removes a database without a name when it is closed.
absl::Status Journal::CopyToTemporary() {
  // A state that nobody changes meanwhile: with a rollback journal its writer can't commit.
  RETURN_IF_ERROR(Execute("BEGIN; SELECT 1 FROM sqlite_master"));
  sqlite3* copy = nullptr;
  int code =
      sqlite3_open_v2("", &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, /*zVfs=*/nullptr);
  if (code == SQLITE_OK) {
    sqlite3_backup* const backup = sqlite3_backup_init(copy, "main", db_, "main");
    const auto end = std::chrono::steady_clock::now() + kHoldUpMax;
    int done = backup != nullptr ? SQLITE_OK : SQLITE_ERROR;
    while (done == SQLITE_OK) {
      done = sqlite3_backup_step(backup, kPagesAtOnce);
      if (done == SQLITE_OK && std::chrono::steady_clock::now() > end && WriterWaits(path_)) {
        done = SQLITE_INTERRUPT;
      }
    }
    code = backup != nullptr ? sqlite3_backup_finish(backup) : sqlite3_errcode(copy);
    if (code == SQLITE_OK && done != SQLITE_DONE) code = done;
  }
  if (code == SQLITE_INTERRUPT) {
    sqlite3_close(copy);
    return absl::UnavailableError(absl::StrCat(
        path_,
        " is too long to be copied from here while its whet writes to it, which would have "
        "to wait; look at it when that has ended, or on a faster way to that file"));
  }
  if (code != SQLITE_OK) {
    const absl::Status status =
        SqliteError(copy, code, absl::StrCat("cannot copy ", path_, " to read it"));
    sqlite3_close(copy);
    return status;
  }
  sqlite3_close(db_);
  db_ = copy;
  sqlite3_extended_result_codes(db_, 1);
  return AddRowCrc(db_);
}

// Version 1 differs from 2 in its mark alone: it had its number in `meta` and none in the header.
// From 2 to 3 every entry is read and written anew. 4 has other columns in a table that was empty.
absl::Status Journal::Migrate(int64_t version, bool own_checkpoints) {
  if (version < 3) RETURN_IF_ERROR(CheckPages());
  absl::Status status = Execute("BEGIN IMMEDIATE");
  if (status.ok() && version == 1) {
    status = Execute("DELETE FROM meta WHERE key = 'schema_version'");
  }
  if (status.ok() && version == 3) status = Execute("DROP TABLE changes");
  if (status.ok()) status = Execute(absl::StrCat("CREATE ", kChangesTable).c_str());
  if (status.ok() && version < 3) status = MigrateRows(own_checkpoints);
  if (status.ok()) status = Execute(JournalMark().c_str());
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

absl::Status Journal::MigrateRows(bool own_checkpoints) {
  std::string set_aside, drop;
  for (const JournalTable* table : kJournalTables) {
    if (table->columns_of_version_2 == nullptr) continue;
    absl::StrAppend(&set_aside, "ALTER TABLE ", table->name, " RENAME TO ", table->name, "_2;");
    absl::StrAppend(&drop, "DROP TABLE ", table->name, "_2;");
  }
  RETURN_IF_ERROR(Execute(set_aside.c_str()));
  RETURN_IF_ERROR(Execute(kJournalSchema));
  {
    RowWriter writer(file());
    const std::string own = std::filesystem::path(path_).parent_path().string() + "/checkpoints/";
    std::filesystem::path old;  // where the checkpoints were
    const auto beside = [&own](const std::string& path) {
      return own + std::filesystem::path(path).filename().string();
    };
    RETURN_IF_ERROR(
        VisitInOrder(ReadersOfVersion2(file()), [&](const RowReader& reader) -> absl::Status {
          ASSIGN_OR_RETURN(JournalEntry entry, reader.Get());
          if (auto* checkpoint = std::get_if<CheckpointEntry>(&entry);
              checkpoint != nullptr && own_checkpoints) {
            old = std::filesystem::path(checkpoint->path).parent_path();
            checkpoint->path = beside(checkpoint->path);
          }
          // The reference model of a KL penalty is a checkpoint, or a model elsewhere.
          if (auto* update = std::get_if<UpdateEntry>(&entry);
              update != nullptr && own_checkpoints && update->request &&
              update->request->grpo().settings().kl_reference() != "") {
            v1::GrpoSettings* settings = update->request->mutable_grpo()->mutable_settings();
            const std::string reference = settings->kl_reference();
            if (std::filesystem::path(reference).parent_path() == old) {
              settings->set_kl_reference(beside(reference));
            }
          }
          return writer.Write(reader.seq(), std::nullopt, entry);
        }));
  }
  return Execute(drop.c_str());
}

}  // namespace whetstone
