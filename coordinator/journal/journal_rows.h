// How a fact is a row of the journal's tables: the schema, and reading and writing by it.
//
//   RowWriter writer(db);
//   RETURN_IF_ERROR(writer.Write(seq, fact));
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
#include "coordinator/campaign/facts.h"
#include "coordinator/journal/sqlite_statement.h"

namespace whetstone {

// Makes the tables of an empty database. Every one and its columns: docs/formats/journal.md.
extern const char kJournalSchema[];

// Reads one table's facts, in order of seq.
class RowReader {
 public:
  RowReader(sqlite3* db, const char* sql) : statement_(db, sql) {}
  virtual ~RowReader() = default;
  // To the next row; before the first Get, too.
  absl::Status Advance() {
    ASSIGN_OR_RETURN(more_, statement_.Step());
    return absl::OkStatus();
  }
  bool more() const { return more_; }
  // Of the row it is at.
  int64_t seq() const { return statement_.Int(0); }
  virtual absl::StatusOr<Fact> Get() const = 0;

 protected:
  Statement statement_;
  bool more_ = false;
};

// One for each kind of fact. The database is borrowed.
std::vector<std::unique_ptr<RowReader>> MakeRowReaders(sqlite3* db);

// Writes facts into their tables, which are there. The database is borrowed. After an error: use
// another one.
class RowWriter {
 public:
  explicit RowWriter(sqlite3* db);
  absl::Status Write(int64_t seq, const Fact& fact);

 private:
  absl::Status Insert(int64_t seq, const PromptFact& f);
  absl::Status Insert(int64_t seq, const RolloutFact& f);
  absl::Status Insert(int64_t seq, const VerdictFact& f);
  absl::Status Insert(int64_t seq, const LeaderFact& f);
  absl::Status Insert(int64_t seq, const UpdateFact& f);
  absl::Status Insert(int64_t seq, const CheckpointFact& f);
  absl::Status Insert(int64_t seq, const CalibrationFact& f);

  Statement prompts_;
  Statement rollouts_;
  Statement verdicts_;
  Statement leaders_;
  Statement updates_;
  Statement checkpoints_;
  Statement calibrations_;
};

// The column updates.row.
absl::StatusOr<std::map<std::string, double>> ParseMetricsRow(const std::string& json);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_ROWS_H_
