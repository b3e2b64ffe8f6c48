// The journal's entries are rows of its tables: this is the schema, and reading and writing by it.
//
//   RowWriter writer(db);
//   RETURN_IF_ERROR(writer.Write(seq, entry));
//   for (auto& reader : MakeRowReaders(db)) …;     // each table's rows in order of seq
#ifndef WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_ROWS_H_
#define WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_ROWS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "coordinator/durable/journal_entry.h"
#include "coordinator/journal/sqlite_statement.h"

namespace whetstone {

// Makes the tables of an empty database; docs/formats/journal.md explains every column.
extern const char kJournalSchema[];

// Reads one table's entries, in order of seq.
class RowReader {
 public:
  RowReader(sqlite3* db, const char* sql) : statement_(db, sql) {}
  virtual ~RowReader() = default;
  // Goes to the next row; also needed before the first Get.
  absl::Status Advance() {
    ASSIGN_OR_RETURN(more_, statement_.Step());
    return absl::OkStatus();
  }
  bool more() const { return more_; }
  // Returns the `seq` of the row it is at.
  int64_t seq() const { return statement_.Int(0); }
  virtual absl::StatusOr<JournalEntry> Get() const = 0;

 protected:
  Statement statement_;
  bool more_ = false;
};

// Makes a reader for each kind of entry. The database is borrowed.
std::vector<std::unique_ptr<RowReader>> MakeRowReaders(sqlite3* db);

// Writes entries into their tables, which are there. The database is borrowed. After an error
// another one must be used.
class RowWriter {
 public:
  explicit RowWriter(sqlite3* db);
  absl::Status Write(int64_t seq, const JournalEntry& entry);

 private:
  absl::Status Insert(int64_t seq, const PromptEntry& e);
  absl::Status Insert(int64_t seq, const RolloutEntry& e);
  absl::Status Insert(int64_t seq, const VerdictEntry& e);
  absl::Status Insert(int64_t seq, const IncumbentEntry& e);
  absl::Status Insert(int64_t seq, const UpdateEntry& e);
  absl::Status Insert(int64_t seq, const CheckpointEntry& e);
  absl::Status Insert(int64_t seq, const CalibrationEntry& e);

  Statement prompts_;
  Statement rollouts_;
  Statement verdicts_;
  Statement incumbents_;
  Statement updates_;
  Statement checkpoints_;
  Statement calibrations_;
};

// Parses the column updates.row.
absl::StatusOr<std::map<std::string, double>> ParseMetricsRow(const std::string& json);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_ROWS_H_
