// The journal's entries are rows of its tables: this is the schema, and reading and writing by it.
//
//   RowWriter writer(file);
//   RETURN_IF_ERROR(writer.Write(seq, time_us, entry));
//   RETURN_IF_ERROR(VisitAfter(file, 0, visit));
//
// Every row ends with its checksum (row_crc.h). Paths below the run directory are stored relative
// to it, so that a run may be moved and copied.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_ROWS_H_
#define WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_ROWS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/durable/journal_entry.h"
#include "coordinator/journal/sqlite_statement.h"

namespace whetstone {

// An open journal. `path` is absolute; the run directory is its folder. Borrows the database.
struct JournalFile {
  sqlite3* db = nullptr;
  std::string path;

  // Returns a path as the journal stores it, and back.
  std::string Relative(const std::string& absolute) const;
  std::string Absolute(const std::string& stored) const;
};

// The error of a row whose checksum is not that of its columns.
absl::Status DamagedRow(const JournalFile& file, const char* table, int64_t seq);

// Reads entries of one table, in order of seq.
class RowReader {
 public:
  RowReader(const JournalFile& file, const char* table, const std::string& sql,
            const std::vector<int64_t>& values);
  virtual ~RowReader() = default;
  // Goes to the next row; also needed before the first Get. DATA_LOSS: the row is damaged.
  absl::Status Advance();
  bool more() const { return more_; }
  // Returns the `seq` of the row it is at.
  int64_t seq() const { return row_.Int(0); }
  // Returns when it was appended, microseconds since 1970; nothing where version 2 wrote it.
  std::optional<int64_t> time_us() const {
    return row_.IsNull(1) ? std::nullopt : std::optional(row_.Int(1));
  }
  virtual absl::StatusOr<JournalEntry> Get() const = 0;

 protected:
  const JournalFile file_;
  Statement row_;

 private:
  const char* const table_;
  bool more_ = false;
};
using RowReaders = std::vector<std::unique_ptr<RowReader>>;

// The entries of that range.
RowReaders ReadersIn(const JournalFile& file, const EntryRange& range);
// The entries of that step up to `seq`, without updates and checkpoints.
RowReaders ReadersOfStep(const JournalFile& file, int64_t step, int64_t seq);
// That update; at most one.
std::unique_ptr<RowReader> ReaderOfUpdate(const JournalFile& file, const v1::UpdateName& name);
// The newest `count` verdicts, the newest first.
std::unique_ptr<RowReader> ReaderOfNewestVerdicts(const JournalFile& file, int64_t count);
// That rollout; at most one.
std::unique_ptr<RowReader> ReaderOfRollout(const JournalFile& file, int64_t step, int group_index,
                                           int sample);
// All entries of a version 2 that was set aside.
RowReaders ReadersOfVersion2(const JournalFile& file);

// Visits the rows that the readers give, in order of seq. An error of `visit` ends it.
absl::Status VisitInOrder(const RowReaders& readers,
                          const std::function<absl::Status(const RowReader&)>& visit);

// Visits the entries of that range, as far as they are there, in order. DATA_LOSS: one is missing
// between others, or damaged.
absl::Status VisitRange(
    const JournalFile& file, const EntryRange& range,
    const std::function<absl::Status(const JournalEntry&, std::optional<int64_t> time_us)>& visit);

// Visits every entry after `seq`. DATA_LOSS: one is missing or damaged.
absl::Status VisitAfter(const JournalFile& file, int64_t seq,
                        const std::function<absl::Status(const JournalEntry&)>& visit);

// The number of the last entry; 0: there is none.
absl::StatusOr<int64_t> LastSeq(const JournalFile& file);

// Writes entries into their tables, which are there. After an error another one must be used.
class RowWriter {
 public:
  explicit RowWriter(const JournalFile& file);
  absl::Status Write(int64_t seq, std::optional<int64_t> time_us, const JournalEntry& entry);

 private:
  absl::Status Insert(const PromptEntry& e);
  absl::Status Insert(const RolloutEntry& e);
  absl::Status Insert(const VerdictEntry& e);
  absl::Status Insert(const IncumbentEntry& e);
  absl::Status Insert(const UpdateEntry& e);
  absl::Status Insert(const EvaluationEntry& e);
  absl::Status Insert(const CheckpointEntry& e);
  absl::Status Insert(const CalibrationEntry& e);
  absl::Status Insert(const StartEntry& e);
  absl::Status Insert(const LoadEntry& e);
  absl::Status Insert(const ChangeEntry& e);
  // The insertion into `table` with the first two columns filled.
  Statement& Into(Statement& table);

  const JournalFile file_;
  int64_t seq_ = 0;
  std::optional<int64_t> time_us_;
  Statement prompts_;
  Statement rollouts_;
  Statement verdicts_;
  Statement incumbents_;
  Statement updates_;
  Statement checkpoints_;
  Statement calibrations_;
  Statement starts_;
  Statement loads_;
  Statement changes_;
};

// Parses the column updates.row.
absl::StatusOr<std::map<std::string, double>> ParseMetricsRow(const std::string& json);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_ROWS_H_
