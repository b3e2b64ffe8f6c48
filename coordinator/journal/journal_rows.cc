#include "coordinator/journal/journal_rows.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/journal/journal_tables.h"

namespace whetstone {

std::string JournalFile::Relative(const std::string& absolute) const {
  const std::string root = std::filesystem::path(path).parent_path().string() + "/";
  return absl::StartsWith(absolute, root) ? absolute.substr(root.size()) : absolute;
}

std::string JournalFile::Absolute(const std::string& stored) const {
  if (stored.empty() || stored[0] == '/') return stored;
  return (std::filesystem::path(path).parent_path() / stored).string();
}

absl::Status DamagedRow(const JournalFile& file, const char* table, int64_t seq) {
  return absl::DataLossError(
      absl::StrCat(file.path, ": entry ", seq, " in table ", table,
                   " is damaged: its checksum is not that of its columns; restore the file (with "
                   "its -wal file) from a back-up, or start a new run from the newest checkpoint"));
}

absl::StatusOr<std::map<std::string, double>> ParseMetricsRow(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::DataLossError("journal: a damaged row of metrics");
  std::map<std::string, double> row;
  for (const auto& [key, value] : json.items()) {
    if (value.is_number()) row[key] = value.get<double>();
  }
  return row;
}

RowReader::RowReader(const JournalFile& file, const char* table, const std::string& sql,
                     const std::vector<int64_t>& values)
    : file_(file), row_(file.db, sql.c_str()), table_(table) {
  for (const int64_t value : values) row_.Bind(value);
}

absl::Status RowReader::Advance() {
  ASSIGN_OR_RETURN(more_, row_.Step());
  if (more_ && row_.Int(row_.columns() - 1) != 1) return DamagedRow(file_, table_, seq());
  return absl::OkStatus();
}

namespace {

// The numbers of columns below are their places in journal_tables.h.

class PromptReader final : public RowReader {
 public:
  using RowReader::RowReader;
  absl::StatusOr<JournalEntry> Get() const override {
    PromptEntry entry{row_.Int(2), {}};
    RETURN_IF_ERROR(row_.Parse(4, &entry.prompt));
    return entry;
  }
};

class RolloutReader final : public RowReader {
 public:
  using RowReader::RowReader;
  absl::StatusOr<JournalEntry> Get() const override {
    RolloutEntry entry{row_.Int(2), {}};
    RETURN_IF_ERROR(row_.Parse(9, &entry.completion));
    // Version 2 stored the text twice.
    if (!entry.completion.text().empty() && entry.completion.text() != row_.Bytes(8)) {
      return absl::DataLossError(
          absl::StrCat(file_.path, ": entry ", seq(),
                       " in table rollouts is damaged: its two copies of the text differ; restore "
                       "the file (with its -wal file) from a back-up"));
    }
    entry.completion.set_text(row_.Bytes(8));
    return entry;
  }
};

class VerdictReader final : public RowReader {
 public:
  using RowReader::RowReader;
  absl::StatusOr<JournalEntry> Get() const override {
    VerdictEntry entry;
    entry.step = row_.Int(2);
    entry.group_index = static_cast<int>(row_.Int(3));
    entry.sample = static_cast<int>(row_.Int(4));
    entry.reward = row_.Double(6);
    entry.dropped = row_.Int(7) != 0;
    RETURN_IF_ERROR(row_.Parse(18, &entry.verdict));
    return entry;
  }
};

class IncumbentReader final : public RowReader {
 public:
  using RowReader::RowReader;
  absl::StatusOr<JournalEntry> Get() const override {
    IncumbentEntry entry;
    entry.step = row_.Int(2);
    entry.group_index = static_cast<int>(row_.Int(3));
    entry.sample = static_cast<int>(row_.Int(4));
    entry.problem_id = row_.Bytes(5);
    entry.accepted = row_.Int(6) != 0;
    entry.source = row_.Bytes(10);
    RETURN_IF_ERROR(row_.Parse(11, &entry.verdict));
    return entry;
  }
};

class UpdateReader final : public RowReader {
 public:
  using RowReader::RowReader;
  absl::StatusOr<JournalEntry> Get() const override {
    UpdateEntry entry;
    entry.name.set_phase(static_cast<v1::UpdateName::Phase>(row_.Int(2)));
    entry.name.set_step(row_.Int(3));
    ASSIGN_OR_RETURN(entry.row, ParseMetricsRow(row_.Bytes(6)));
    if (entry.name.phase() == v1::UpdateName::EVAL) {
      return EvaluationEntry{std::move(entry.name), std::move(entry.row)};
    }
    entry.request_hash = row_.Bytes(7);
    if (!row_.IsNull(8)) RETURN_IF_ERROR(row_.Parse(8, &entry.request.emplace()));
    RETURN_IF_ERROR(row_.Parse(9, &entry.response));
    return entry;
  }
};

class CheckpointReader final : public RowReader {
 public:
  using RowReader::RowReader;
  absl::StatusOr<JournalEntry> Get() const override {
    CheckpointEntry entry;
    entry.name.set_phase(static_cast<v1::UpdateName::Phase>(row_.Int(2)));
    entry.name.set_step(row_.Int(3));
    entry.path = file_.Absolute(row_.Bytes(4));
    entry.checksum = row_.Bytes(5);
    entry.bytes = row_.Int(6);
    return entry;
  }
};

class CalibrationReader final : public RowReader {
 public:
  using RowReader::RowReader;
  absl::StatusOr<JournalEntry> Get() const override {
    CalibrationEntry entry{row_.Bytes(2), row_.Bytes(3), {}};
    RETURN_IF_ERROR(row_.Parse(6, &entry.calibration));
    return entry;
  }
};

class StartReader final : public RowReader {
 public:
  using RowReader::RowReader;
  absl::StatusOr<JournalEntry> Get() const override {
    return StartEntry{row_.Bytes(2), row_.Bytes(3), row_.Bytes(4)};
  }
};

class LoadReader final : public RowReader {
 public:
  using RowReader::RowReader;
  absl::StatusOr<JournalEntry> Get() const override {
    return LoadEntry{file_.Absolute(row_.Bytes(2)), row_.Bytes(3), row_.Bytes(4), row_.Bytes(5)};
  }
};

class ChangeReader final : public RowReader {
 public:
  using RowReader::RowReader;
  absl::StatusOr<JournalEntry> Get() const override {
    return ChangeEntry{row_.Int(2), row_.Bytes(3), row_.Bytes(4), row_.Bytes(5)};
  }
};

std::unique_ptr<RowReader> ReaderOf(const JournalTable& table, const JournalFile& file,
                                    const std::string& sql, const std::vector<int64_t>& values) {
  const auto make = [&]<typename Reader>(Reader*) -> std::unique_ptr<RowReader> {
    return std::make_unique<Reader>(file, table.name, sql, values);
  };
  if (&table == &kPrompts) return make(static_cast<PromptReader*>(nullptr));
  if (&table == &kRollouts) return make(static_cast<RolloutReader*>(nullptr));
  if (&table == &kVerdicts) return make(static_cast<VerdictReader*>(nullptr));
  if (&table == &kLeaders) return make(static_cast<IncumbentReader*>(nullptr));
  if (&table == &kUpdates) return make(static_cast<UpdateReader*>(nullptr));
  if (&table == &kCheckpoints) return make(static_cast<CheckpointReader*>(nullptr));
  if (&table == &kCalibrations) return make(static_cast<CalibrationReader*>(nullptr));
  if (&table == &kStarts) return make(static_cast<StartReader*>(nullptr));
  if (&table == &kChanges) return make(static_cast<ChangeReader*>(nullptr));
  return make(static_cast<LoadReader*>(nullptr));
}

}  // namespace

RowReaders ReadersIn(const JournalFile& file, const EntryRange& range) {
  RowReaders readers;
  for (const JournalTable* table : kJournalTables) {
    readers.push_back(ReaderOf(*table, file,
                               SelectRows(*table, "WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq"),
                               {range.first, range.last}));
  }
  return readers;
}

RowReaders ReadersOfStep(const JournalFile& file, int64_t step, int64_t seq) {
  RowReaders readers;
  for (const JournalTable* table : {&kPrompts, &kRollouts, &kVerdicts, &kLeaders}) {
    // With a plus a column has no index: it is the step's that is to be used.
    readers.push_back(ReaderOf(*table, file,
                               SelectRows(*table, "WHERE step = ?1 AND +seq <= ?2 ORDER BY +seq"),
                               {step, seq}));
  }
  return readers;
}

std::unique_ptr<RowReader> ReaderOfUpdate(const JournalFile& file, const v1::UpdateName& name) {
  return ReaderOf(kUpdates, file, SelectRows(kUpdates, "WHERE phase = ?1 AND step = ?2"),
                  {int64_t{name.phase()}, int64_t{name.step()}});
}

std::unique_ptr<RowReader> ReaderOfNewestVerdicts(const JournalFile& file, int64_t count) {
  return ReaderOf(kVerdicts, file, SelectRows(kVerdicts, "ORDER BY seq DESC LIMIT ?1"), {count});
}

std::unique_ptr<RowReader> ReaderOfRollout(const JournalFile& file, int64_t step, int group_index,
                                           int sample) {
  return ReaderOf(kRollouts, file,
                  SelectRows(kRollouts, "WHERE step = ?1 AND grp = ?2 AND sample = ?3"),
                  {step, group_index, sample});
}

RowReaders ReadersOfVersion2(const JournalFile& file) {
  RowReaders readers;
  for (const JournalTable* table : kJournalTables) {
    if (table->columns_of_version_2 == nullptr) continue;
    readers.push_back(ReaderOf(*table, file,
                               absl::StrCat("SELECT ", table->columns_of_version_2, ", 1 FROM ",
                                            table->name, "_2 ORDER BY seq"),
                               {}));
  }
  return readers;
}

absl::Status VisitInOrder(const RowReaders& readers,
                          const std::function<absl::Status(const RowReader&)>& visit) {
  for (const auto& reader : readers) RETURN_IF_ERROR(reader->Advance());
  while (true) {
    RowReader* first = nullptr;
    for (const auto& reader : readers) {
      if (reader->more() && (first == nullptr || reader->seq() < first->seq())) {
        first = reader.get();
      }
    }
    if (first == nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(visit(*first));
    RETURN_IF_ERROR(first->Advance());
  }
}

absl::Status VisitRange(
    const JournalFile& file, const EntryRange& range,
    const std::function<absl::Status(const JournalEntry&, std::optional<int64_t> time_us)>& visit) {
  int64_t next = range.first;
  return VisitInOrder(ReadersIn(file, range), [&](const RowReader& reader) -> absl::Status {
    if (reader.seq() != next) {
      return absl::DataLossError(absl::StrCat(file.path, " is incomplete: entry ", next,
                                              " is missing; restore it from a back-up"));
    }
    ++next;
    ASSIGN_OR_RETURN(const JournalEntry entry, reader.Get());
    return visit(entry, reader.time_us());
  });
}

absl::Status VisitAfter(const JournalFile& file, int64_t seq,
                        const std::function<absl::Status(const JournalEntry&)>& visit) {
  return VisitRange(
      file, {seq + 1, std::numeric_limits<int64_t>::max()},
      [&](const JournalEntry& entry, std::optional<int64_t>) { return visit(entry); });
}

absl::StatusOr<int64_t> LastSeq(const JournalFile& file) {
  int64_t last = 0;
  for (const JournalTable* table : kJournalTables) {
    Statement read(file.db, absl::StrCat("SELECT max(seq) FROM ", table->name).c_str());
    ASSIGN_OR_RETURN(const bool row, read.Step());
    if (row) last = std::max(last, read.Int(0));
  }
  return last;
}

}  // namespace whetstone
