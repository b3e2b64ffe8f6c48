#include "coordinator/journal/sqlite_statement.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {

absl::Status SqliteError(sqlite3* db, int code, absl::string_view what) {
  const int primary = code & 0xff;
  const std::string message =
      absl::StrCat(what, ": ", db == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db));
  switch (primary) {
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(
          absl::StrCat(message, "; nothing is lost: free some space, then go on with whet resume"));
    case SQLITE_IOERR:
      return absl::UnavailableError(message);
    case SQLITE_CORRUPT:
      return absl::DataLossError(absl::StrCat(
          message,
          "; restore it (with its -wal file) from a back-up, or start a new run from the "
          "newest checkpoint"));
    case SQLITE_NOTADB:
      return absl::DataLossError(message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(
          absl::StrCat(message, "; another process writes to it, or reads it"));
    case SQLITE_CANTOPEN:
      return absl::NotFoundError(message);
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return absl::PermissionDeniedError(message);
    default:
      return absl::InternalError(message);
  }
}

Statement::Statement(sqlite3* db, const char* sql) : db_(db) {
  code_ = sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr);
}

Statement& Statement::Bind(int64_t value) {
  if (code_ == SQLITE_OK) code_ = sqlite3_bind_int64(statement_, next_++, value);
  return *this;
}

Statement& Statement::Bind(double value) {
  if (code_ == SQLITE_OK) code_ = sqlite3_bind_double(statement_, next_++, value);
  return *this;
}

Statement& Statement::Null() {
  if (code_ == SQLITE_OK) code_ = sqlite3_bind_null(statement_, next_++);
  return *this;
}

Statement& Statement::Text(absl::string_view value) {
  if (code_ == SQLITE_OK) {
    code_ = sqlite3_bind_text64(statement_, next_++, value.data(), value.size(), SQLITE_TRANSIENT,
                                SQLITE_UTF8);
  }
  return *this;
}

Statement& Statement::Proto(const google::protobuf::MessageLite& message) {
  if (code_ != SQLITE_OK) return *this;
  const size_t size = message.ByteSizeLong();
  void* const bytes = sqlite3_malloc64(size + 1);  // SQLite owns it once it is bound
  CHECK(bytes != nullptr && message.SerializeToArray(bytes, static_cast<int>(size)));
  code_ = sqlite3_bind_blob64(statement_, next_++, bytes, size, sqlite3_free);
  return *this;
}

absl::Status Statement::Run() {
  absl::StatusOr<bool> more = true;
  while (more.ok() && *more) more = Step();
  if (statement_ != nullptr) {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
    next_ = 1;
    code_ = SQLITE_OK;
  }
  return more.status();
}

absl::StatusOr<bool> Statement::Step() {
  if (code_ != SQLITE_OK) return Error(code_);
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return Error(code);
}

absl::Status Statement::Error(int code) const {
  return SqliteError(db_, code, absl::StrCat("journal ", sqlite3_db_filename(db_, "main")));
}

std::string Statement::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return data == nullptr ? std::string()
                         : std::string(static_cast<const char*>(data), static_cast<size_t>(size));
}

absl::Status Statement::Parse(int column, google::protobuf::MessageLite* message) const {
  if (message->ParseFromArray(sqlite3_column_blob(statement_, column),
                              sqlite3_column_bytes(statement_, column))) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat("journal ", sqlite3_db_filename(db_, "main"),
                                          ": a damaged ", message->GetTypeName()));
}

}  // namespace whetstone
