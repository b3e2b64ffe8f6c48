#include "coordinator/journal/journal_tables.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// `parent`, `turn`, `load_epoch` and loads.campaign_id are room: nothing is written there yet.
const char kJournalSchema[] = R"sql(
CREATE TABLE prompts(seq INTEGER PRIMARY KEY, time_us INTEGER, step INTEGER, grp INTEGER,
                     proto BLOB, crc INTEGER);
CREATE INDEX prompts_of_step ON prompts(step);
CREATE TABLE rollouts(seq INTEGER PRIMARY KEY, time_us INTEGER, step INTEGER, grp INTEGER,
                      sample INTEGER, parent INTEGER, turn INTEGER, tokens INTEGER, text TEXT,
                      proto BLOB, crc INTEGER, UNIQUE(step, grp, sample));
CREATE TABLE verdicts(seq INTEGER PRIMARY KEY, time_us INTEGER, step INTEGER, grp INTEGER,
                      sample INTEGER, outcome TEXT, reward REAL, dropped INTEGER, speedup REAL,
                      speedup_low REAL, speedup_high REAL, process_pairs INTEGER, pairs INTEGER,
                      rounds_redone INTEGER, rounds_clock_changed INTEGER,
                      rounds_core_shared INTEGER, pairs_core_shared INTEGER, detail TEXT,
                      proto BLOB, crc INTEGER, UNIQUE(step, grp, sample));
CREATE TABLE leaders(seq INTEGER PRIMARY KEY, time_us INTEGER, step INTEGER, grp INTEGER,
                     sample INTEGER, problem TEXT, accepted INTEGER, speedup REAL,
                     speedup_low REAL, speedup_high REAL, source TEXT, proto BLOB, crc INTEGER);
CREATE INDEX leaders_of_step ON leaders(step);
CREATE TABLE updates(seq INTEGER PRIMARY KEY, time_us INTEGER, phase INTEGER, step INTEGER,
                     applied INTEGER, load_epoch INTEGER, row TEXT, request_hash TEXT,
                     request BLOB, response BLOB, crc INTEGER, UNIQUE(phase, step));
CREATE TABLE checkpoints(seq INTEGER PRIMARY KEY, time_us INTEGER, phase INTEGER, step INTEGER,
                         path TEXT, checksum TEXT, bytes INTEGER, crc INTEGER);
CREATE TABLE calibrations(seq INTEGER PRIMARY KEY, time_us INTEGER, host_id TEXT,
                          problem_hash TEXT, expert_speedup REAL, noise_band REAL, proto BLOB,
                          crc INTEGER);
CREATE TABLE starts(seq INTEGER PRIMARY KEY, time_us INTEGER, host TEXT, boot_id TEXT,
                    version TEXT, crc INTEGER);
CREATE TABLE loads(seq INTEGER PRIMARY KEY, time_us INTEGER, path TEXT, trainer_version TEXT,
                   trainer_host_id TEXT, model_sha256 TEXT, campaign_id TEXT, load_epoch INTEGER,
                   crc INTEGER);
CREATE TABLE snapshots(seq INTEGER PRIMARY KEY, time_us INTEGER, proto BLOB, crc INTEGER);
)sql";

const char kChangesTable[] =
    "TABLE changes(seq INTEGER PRIMARY KEY, time_us INTEGER, step INTEGER, key TEXT, old TEXT, "
    "new TEXT, crc INTEGER);";

std::string JournalMark() {
  return absl::StrCat("PRAGMA application_id=", kApplicationId,
                      "; PRAGMA user_version=", kSchemaVersion, ";");
}

std::string SelectRows(const JournalTable& table, const std::string& where) {
  return absl::StrCat("SELECT ", table.columns, ", crc = row_crc(", table.columns, ") FROM ",
                      table.name, " ", where);
}

std::string InsertRow(const JournalTable& table) {
  const absl::string_view columns = table.columns;
  std::vector<std::string> parameters;
  for (int i = 1; i <= 1 + std::count(columns.begin(), columns.end(), ','); ++i) {
    parameters.push_back(absl::StrCat("?", i));
  }
  const std::string list = absl::StrJoin(parameters, ", ");
  return absl::StrCat("INSERT INTO ", table.name, " VALUES (", list, ", row_crc(", list, "))");
}

}  // namespace whetstone
