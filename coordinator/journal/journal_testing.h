// Tests of journals use these: to do to a file what only another program would.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_TESTING_H_
#define WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_TESTING_H_

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>
#include <vector>

namespace whetstone {

// Runs `sql` on the file and returns the first column of what it gives, NULL as "". The test fails
// if SQLite objects.
inline std::vector<std::string> RunSql(const std::string& path, const std::string& sql) {
  std::vector<std::string> texts;
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  const auto add = [](void* out, int, char** values, char**) {
    static_cast<std::vector<std::string>*>(out)->emplace_back(values[0] == nullptr ? ""
                                                                                   : values[0]);
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), add, &texts, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
  return texts;
}

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_TESTING_H_
