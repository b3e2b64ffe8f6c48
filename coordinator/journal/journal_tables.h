// The tables of the journal's entries and their columns: SQL for rows and their checksums.
#ifndef WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_TABLES_H_
#define WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_TABLES_H_

#include <cstdint>
#include <string>

namespace whetstone {

// Two numbers in the file's header tell `file` and us what it is: "Whet", and the schema's version.
inline constexpr int64_t kApplicationId = 0x57686574;
inline constexpr int64_t kSchemaVersion = 4;
// Returns SQL that writes them.
std::string JournalMark();

// Makes the tables of entries and snapshots but that of changes; docs/formats/journal.md explains
// every column.
extern const char kJournalSchema[];
// "TABLE changes(…)", which version 3 had with other columns, and empty.
extern const char kChangesTable[];

struct JournalTable {
  const char* name;
  // All columns but the last, which is `crc`, in order.
  const char* columns;
  // The same of the table as version 2 had it; null: it had none.
  const char* columns_of_version_2;
};

inline constexpr JournalTable kPrompts = {"prompts", "seq, time_us, step, grp, proto",
                                          "seq, NULL, step, grp, proto"};
inline constexpr JournalTable kRollouts = {
    "rollouts", "seq, time_us, step, grp, sample, parent, turn, tokens, text, proto",
    "seq, NULL, step, grp, sample, NULL, NULL, tokens, text, proto"};
inline constexpr JournalTable kVerdicts = {
    "verdicts",
    "seq, time_us, step, grp, sample, outcome, reward, dropped, speedup, speedup_low, "
    "speedup_high, process_pairs, pairs, rounds_redone, rounds_clock_changed, rounds_core_shared, "
    "pairs_core_shared, detail, proto",
    "seq, NULL, step, grp, sample, outcome, reward, dropped, speedup, NULL, NULL, NULL, NULL, "
    "NULL, NULL, NULL, NULL, detail, proto"};
inline constexpr JournalTable kLeaders = {
    "leaders",
    "seq, time_us, step, grp, sample, problem, accepted, speedup, speedup_low, speedup_high, "
    "source, proto",
    "seq, NULL, step, grp, sample, problem, accepted, speedup, NULL, NULL, source, proto"};
inline constexpr JournalTable kUpdates = {
    "updates",
    "seq, time_us, phase, step, applied, load_epoch, row, request_hash, request, response",
    "seq, NULL, phase, step, applied, NULL, row, NULL, request, response"};
inline constexpr JournalTable kCheckpoints = {"checkpoints",
                                              "seq, time_us, phase, step, path, checksum, bytes",
                                              "seq, NULL, phase, step, path, checksum, bytes"};
inline constexpr JournalTable kCalibrations = {
    "calibrations", "seq, time_us, host_id, problem_hash, expert_speedup, noise_band, proto",
    "seq, NULL, host_id, problem_hash, expert_speedup, noise_band, proto"};
inline constexpr JournalTable kStarts = {"starts", "seq, time_us, host, boot_id, version", nullptr};
inline constexpr JournalTable kLoads = {
    "loads",
    "seq, time_us, path, trainer_version, trainer_host_id, model_sha256, campaign_id, load_epoch",
    nullptr};
inline constexpr JournalTable kChanges = {"changes", "seq, time_us, step, key, old, new", nullptr};
inline constexpr JournalTable kSnapshots = {"snapshots", "seq, time_us, proto", nullptr};

// Of kJournalTables each row is an entry.
inline constexpr const JournalTable* kJournalTables[] = {
    &kPrompts,     &kRollouts,     &kVerdicts, &kLeaders, &kUpdates,
    &kCheckpoints, &kCalibrations, &kStarts,   &kLoads,   &kChanges};

// "SELECT columns, whether the checksum is theirs FROM table where".
std::string SelectRows(const JournalTable& table, const std::string& where);
// Inserts a row; every column but the checksum is a parameter.
std::string InsertRow(const JournalTable& table);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_JOURNAL_JOURNAL_TABLES_H_
