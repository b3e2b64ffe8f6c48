// A Statement is a prepared statement that cleans up after itself and reports errors as
// absl::Status.
//
//   Statement insert(db, "INSERT INTO t VALUES (?, ?)");
//   RETURN_IF_ERROR(insert.Bind(1).Text("text").Run());
//   RETURN_IF_ERROR(insert.Bind(2).Text("more").Run());
//
// The database is borrowed. A statement is not thread-safe.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_SQLITE_STATEMENT_H_
#define WHETSTONE_COORDINATOR_JOURNAL_SQLITE_STATEMENT_H_

#include <google/protobuf/message_lite.h>
#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// Returns an error that says `what` first, then SQLite's words; a full disk is RESOURCE_EXHAUSTED
// and says what to do.
absl::Status SqliteError(sqlite3* db, int code, absl::string_view what);

class Statement {
 public:
  Statement(sqlite3* db, const char* sql);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // These fill the next question mark.
  Statement& Bind(int64_t value);
  Statement& Bind(double value);
  Statement& Bind(std::optional<int64_t> value) { return value ? Bind(*value) : Null(); }
  Statement& Null();
  Statement& Text(absl::string_view value);
  Statement& Proto(const google::protobuf::MessageLite& message);

  // Runs to the end and ignores rows; then it can be filled and run again.
  absl::Status Run();
  // Goes to the next row; false at the end.
  absl::StatusOr<bool> Step();

  int columns() const { return sqlite3_column_count(statement_); }
  bool IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  int64_t Int(int column) const { return sqlite3_column_int64(statement_, column); }
  double Double(int column) const { return sqlite3_column_double(statement_, column); }
  std::string Bytes(int column) const;
  // Parses a column as a message. DATA_LOSS: the bytes are none.
  absl::Status Parse(int column, google::protobuf::MessageLite* message) const;

 private:
  // Returns an error that names the file.
  absl::Status Error(int code) const;

  sqlite3* const db_;
  sqlite3_stmt* statement_ = nullptr;
  int code_ = SQLITE_OK;  // the first error of preparing and binding
  int next_ = 1;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_SQLITE_STATEMENT_H_
