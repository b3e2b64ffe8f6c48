#include "coordinator/journal/journal_rows.h"

#include <nlohmann/json.hpp>

namespace whetstone {

const char kJournalSchema[] = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE prompts(seq INTEGER PRIMARY KEY, step INTEGER, grp INTEGER, proto BLOB);
CREATE TABLE rollouts(seq INTEGER PRIMARY KEY, step INTEGER, grp INTEGER, sample INTEGER,
                      tokens INTEGER, text TEXT, proto BLOB, UNIQUE(step, grp, sample));
CREATE TABLE verdicts(seq INTEGER PRIMARY KEY, step INTEGER, grp INTEGER, sample INTEGER,
                      outcome TEXT, reward REAL, dropped INTEGER, speedup REAL, detail TEXT,
                      proto BLOB, UNIQUE(step, grp, sample));
CREATE TABLE leaders(seq INTEGER PRIMARY KEY, step INTEGER, grp INTEGER, sample INTEGER,
                     problem TEXT, accepted INTEGER, speedup REAL, source TEXT, proto BLOB);
CREATE TABLE updates(seq INTEGER PRIMARY KEY, phase INTEGER, step INTEGER, applied INTEGER,
                     row TEXT, request BLOB, response BLOB, UNIQUE(phase, step));
CREATE TABLE checkpoints(seq INTEGER PRIMARY KEY, phase INTEGER, step INTEGER, path TEXT,
                         checksum TEXT, bytes INTEGER);
CREATE TABLE calibrations(seq INTEGER PRIMARY KEY, host_id TEXT, problem_hash TEXT,
                          expert_speedup REAL, noise_band REAL, proto BLOB);
)sql";

absl::StatusOr<std::map<std::string, double>> ParseMetricsRow(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::DataLossError("journal: a damaged row of metrics");
  std::map<std::string, double> row;
  for (const auto& [key, value] : json.items()) {
    if (value.is_number()) row[key] = value.get<double>();
  }
  return row;
}

namespace {

class PromptReader final : public RowReader {
 public:
  explicit PromptReader(sqlite3* db)
      : RowReader(db, "SELECT seq, step, proto FROM prompts ORDER BY 1") {}
  absl::StatusOr<JournalEntry> Get() const override {
    PromptEntry entry{statement_.Int(1), {}};
    RETURN_IF_ERROR(statement_.Parse(2, &entry.prompt));
    return entry;
  }
};

class RolloutReader final : public RowReader {
 public:
  explicit RolloutReader(sqlite3* db)
      : RowReader(db, "SELECT seq, step, proto FROM rollouts ORDER BY 1") {}
  absl::StatusOr<JournalEntry> Get() const override {
    RolloutEntry entry{statement_.Int(1), {}};
    RETURN_IF_ERROR(statement_.Parse(2, &entry.completion));
    return entry;
  }
};

class VerdictReader final : public RowReader {
 public:
  explicit VerdictReader(sqlite3* db)
      : RowReader(
            db, "SELECT seq, step, grp, sample, reward, dropped, proto FROM verdicts ORDER BY 1") {}
  absl::StatusOr<JournalEntry> Get() const override {
    VerdictEntry entry;
    entry.step = statement_.Int(1);
    entry.group_index = static_cast<int>(statement_.Int(2));
    entry.sample = static_cast<int>(statement_.Int(3));
    entry.reward = statement_.Double(4);
    entry.dropped = statement_.Int(5) != 0;
    RETURN_IF_ERROR(statement_.Parse(6, &entry.verdict));
    return entry;
  }
};

class IncumbentReader final : public RowReader {
 public:
  explicit IncumbentReader(sqlite3* db)
      : RowReader(db,
                  "SELECT seq, step, grp, sample, problem, accepted, source, proto FROM leaders "
                  "ORDER BY 1") {}
  absl::StatusOr<JournalEntry> Get() const override {
    IncumbentEntry entry;
    entry.step = statement_.Int(1);
    entry.group_index = static_cast<int>(statement_.Int(2));
    entry.sample = static_cast<int>(statement_.Int(3));
    entry.problem_id = statement_.Bytes(4);
    entry.accepted = statement_.Int(5) != 0;
    entry.source = statement_.Bytes(6);
    RETURN_IF_ERROR(statement_.Parse(7, &entry.verdict));
    return entry;
  }
};

class UpdateReader final : public RowReader {
 public:
  explicit UpdateReader(sqlite3* db)
      : RowReader(db, "SELECT seq, row, request, response FROM updates ORDER BY 1") {}
  absl::StatusOr<JournalEntry> Get() const override {
    UpdateEntry entry;
    ASSIGN_OR_RETURN(entry.row, ParseMetricsRow(statement_.Bytes(1)));
    RETURN_IF_ERROR(statement_.Parse(2, &entry.request));
    RETURN_IF_ERROR(statement_.Parse(3, &entry.response));
    return entry;
  }
};

class CheckpointReader final : public RowReader {
 public:
  explicit CheckpointReader(sqlite3* db)
      : RowReader(db,
                  "SELECT seq, phase, step, path, checksum, bytes FROM checkpoints ORDER BY 1") {}
  absl::StatusOr<JournalEntry> Get() const override {
    CheckpointEntry entry;
    entry.name.set_phase(static_cast<v1::UpdateName::Phase>(statement_.Int(1)));
    entry.name.set_step(statement_.Int(2));
    entry.path = statement_.Bytes(3);
    entry.checksum = statement_.Bytes(4);
    entry.bytes = statement_.Int(5);
    return entry;
  }
};

class CalibrationReader final : public RowReader {
 public:
  explicit CalibrationReader(sqlite3* db)
      : RowReader(db, "SELECT seq, host_id, problem_hash, proto FROM calibrations ORDER BY 1") {}
  absl::StatusOr<JournalEntry> Get() const override {
    CalibrationEntry entry{statement_.Bytes(1), statement_.Bytes(2), {}};
    RETURN_IF_ERROR(statement_.Parse(3, &entry.calibration));
    return entry;
  }
};

}  // namespace

std::vector<std::unique_ptr<RowReader>> MakeRowReaders(sqlite3* db) {
  std::vector<std::unique_ptr<RowReader>> readers;
  readers.push_back(std::make_unique<PromptReader>(db));
  readers.push_back(std::make_unique<RolloutReader>(db));
  readers.push_back(std::make_unique<VerdictReader>(db));
  readers.push_back(std::make_unique<IncumbentReader>(db));
  readers.push_back(std::make_unique<UpdateReader>(db));
  readers.push_back(std::make_unique<CheckpointReader>(db));
  readers.push_back(std::make_unique<CalibrationReader>(db));
  return readers;
}

RowWriter::RowWriter(sqlite3* db)
    : prompts_(db, "INSERT INTO prompts VALUES (?, ?, ?, ?)"),
      rollouts_(db, "INSERT INTO rollouts VALUES (?, ?, ?, ?, ?, ?, ?)"),
      verdicts_(db, "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      incumbents_(db, "INSERT INTO leaders VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      updates_(db, "INSERT INTO updates VALUES (?, ?, ?, ?, ?, ?, ?)"),
      checkpoints_(db, "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)"),
      calibrations_(db, "INSERT INTO calibrations VALUES (?, ?, ?, ?, ?, ?)") {}

absl::Status RowWriter::Write(int64_t seq, const JournalEntry& entry) {
  return std::visit([&](const auto& e) { return Insert(seq, e); }, entry);
}

absl::Status RowWriter::Insert(int64_t seq, const PromptEntry& e) {
  return prompts_.Bind(seq)
      .Bind(e.step)
      .Bind(int64_t{e.prompt.group_index()})
      .Proto(e.prompt)
      .Run();
}

absl::Status RowWriter::Insert(int64_t seq, const RolloutEntry& e) {
  return rollouts_.Bind(seq)
      .Bind(e.step)
      .Bind(int64_t{e.completion.group_index()})
      .Bind(int64_t{e.completion.sample()})
      .Bind(int64_t{e.completion.ids_size()})
      .Text(e.completion.text())
      .Proto(e.completion)
      .Run();
}

absl::Status RowWriter::Insert(int64_t seq, const VerdictEntry& e) {
  return verdicts_.Bind(seq)
      .Bind(e.step)
      .Bind(int64_t{e.group_index})
      .Bind(int64_t{e.sample})
      .Text(v1::Outcome_Name(e.verdict.outcome()))
      .Bind(e.reward)
      .Bind(int64_t{e.dropped})
      .Bind(e.verdict.speedup())
      .Text(e.verdict.detail())
      .Proto(e.verdict)
      .Run();
}

absl::Status RowWriter::Insert(int64_t seq, const IncumbentEntry& e) {
  return incumbents_.Bind(seq)
      .Bind(e.step)
      .Bind(int64_t{e.group_index})
      .Bind(int64_t{e.sample})
      .Text(e.problem_id)
      .Bind(int64_t{e.accepted})
      .Bind(e.verdict.speedup())
      .Text(e.source)
      .Proto(e.verdict)
      .Run();
}

absl::Status RowWriter::Insert(int64_t seq, const UpdateEntry& e) {
  nlohmann::json row = nlohmann::json::object();
  for (const auto& [key, value] : e.row) row[key] = value;
  return updates_.Bind(seq)
      .Bind(int64_t{e.request.name().phase()})
      .Bind(int64_t{e.request.name().step()})
      .Bind(int64_t{e.response.applied()})
      .Text(row.dump())
      .Proto(e.request)
      .Proto(e.response)
      .Run();
}

absl::Status RowWriter::Insert(int64_t seq, const CheckpointEntry& e) {
  return checkpoints_.Bind(seq)
      .Bind(int64_t{e.name.phase()})
      .Bind(int64_t{e.name.step()})
      .Text(e.path)
      .Text(e.checksum)
      .Bind(e.bytes)
      .Run();
}

absl::Status RowWriter::Insert(int64_t seq, const CalibrationEntry& e) {
  return calibrations_.Bind(seq)
      .Text(e.host_id)
      .Text(e.problem_hash)
      .Bind(e.calibration.expert().speedup())
      .Bind(e.calibration.noise_band())
      .Proto(e.calibration)
      .Run();
}

}  // namespace whetstone
