// The checksum of a row, as an SQL function: row_crc(column, …) is the CRC-32C over its arguments,
// with their types and lengths. Every row of the journal ends with its own.
//
//   INSERT INTO t VALUES (?1, ?2, row_crc(?1, ?2))
//   SELECT a, b, crc = row_crc(a, b) FROM t
#ifndef WHETSTONE_COORDINATOR_JOURNAL_ROW_CRC_H_
#define WHETSTONE_COORDINATOR_JOURNAL_ROW_CRC_H_

#include <sqlite3.h>

#include "absl/status/status.h"

namespace whetstone {

// Makes row_crc known to this connection.
absl::Status AddRowCrc(sqlite3* db);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_ROW_CRC_H_
