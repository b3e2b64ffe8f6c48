#include "coordinator/journal/row_crc.h"

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"
#include "common/crc32c.h"
#include "coordinator/journal/sqlite_statement.h"

namespace whetstone {
namespace {

uint32_t ExtendWithNumber(uint32_t crc, uint64_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  return ExtendCrc32c(crc, absl::string_view(bytes, sizeof bytes));
}

uint32_t ExtendWithValue(uint32_t crc, sqlite3_value* value) {
  const int type = sqlite3_value_type(value);
  crc = ExtendWithNumber(crc, static_cast<uint64_t>(type));
  switch (type) {
    case SQLITE_INTEGER:
      return ExtendWithNumber(crc, static_cast<uint64_t>(sqlite3_value_int64(value)));
    case SQLITE_FLOAT: {
      // SQLite stores -0.0 as 0.
      const double number = sqlite3_value_double(value) + 0.0;
      uint64_t bits = 0;
      std::memcpy(&bits, &number, sizeof bits);
      return ExtendWithNumber(crc, bits);
    }
    case SQLITE_NULL:
      return crc;
    default: {
      const void* const bytes = sqlite3_value_blob(value);
      const size_t size = static_cast<size_t>(sqlite3_value_bytes(value));
      crc = ExtendWithNumber(crc, size);
      return size == 0
                 ? crc
                 : ExtendCrc32c(crc, absl::string_view(static_cast<const char*>(bytes), size));
    }
  }
}

void RowCrc(sqlite3_context* context, int count, sqlite3_value** values) {
  uint32_t crc = 0;
  for (int i = 0; i < count; ++i) crc = ExtendWithValue(crc, values[i]);
  sqlite3_result_int64(context, crc);
}

}  // namespace

absl::Status AddRowCrc(sqlite3* db) {
  const int code =
      sqlite3_create_function_v2(db, "row_crc", /*nArg=*/-1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                 nullptr, &RowCrc, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : SqliteError(db, code, "journal");
}

}  // namespace whetstone
