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
  absl::StatusOr<Fact> Get() const override {
    PromptFact fact{statement_.Int(1), {}};
    RETURN_IF_ERROR(statement_.Parse(2, &fact.prompt));
    return fact;
  }
};

class RolloutReader final : public RowReader {
 public:
  explicit RolloutReader(sqlite3* db)
      : RowReader(db, "SELECT seq, step, proto FROM rollouts ORDER BY 1") {}
  absl::StatusOr<Fact> Get() const override {
    RolloutFact fact{statement_.Int(1), {}};
    RETURN_IF_ERROR(statement_.Parse(2, &fact.completion));
    return fact;
  }
};

class VerdictReader final : public RowReader {
 public:
  explicit VerdictReader(sqlite3* db)
      : RowReader(
            db, "SELECT seq, step, grp, sample, reward, dropped, proto FROM verdicts ORDER BY 1") {}
  absl::StatusOr<Fact> Get() const override {
    VerdictFact fact;
    fact.step = statement_.Int(1);
    fact.group = static_cast<int>(statement_.Int(2));
    fact.sample = static_cast<int>(statement_.Int(3));
    fact.reward = statement_.Double(4);
    fact.dropped = statement_.Int(5) != 0;
    RETURN_IF_ERROR(statement_.Parse(6, &fact.verdict));
    return fact;
  }
};

class LeaderReader final : public RowReader {
 public:
  explicit LeaderReader(sqlite3* db)
      : RowReader(db,
                  "SELECT seq, step, grp, sample, problem, accepted, source, proto FROM leaders "
                  "ORDER BY 1") {}
  absl::StatusOr<Fact> Get() const override {
    LeaderFact fact;
    fact.step = statement_.Int(1);
    fact.group = static_cast<int>(statement_.Int(2));
    fact.sample = static_cast<int>(statement_.Int(3));
    fact.problem_id = statement_.Bytes(4);
    fact.accepted = statement_.Int(5) != 0;
    fact.source = statement_.Bytes(6);
    RETURN_IF_ERROR(statement_.Parse(7, &fact.verdict));
    return fact;
  }
};

class UpdateReader final : public RowReader {
 public:
  explicit UpdateReader(sqlite3* db)
      : RowReader(db, "SELECT seq, row, request, response FROM updates ORDER BY 1") {}
  absl::StatusOr<Fact> Get() const override {
    UpdateFact fact;
    ASSIGN_OR_RETURN(fact.row, ParseMetricsRow(statement_.Bytes(1)));
    RETURN_IF_ERROR(statement_.Parse(2, &fact.request));
    RETURN_IF_ERROR(statement_.Parse(3, &fact.response));
    return fact;
  }
};

class CheckpointReader final : public RowReader {
 public:
  explicit CheckpointReader(sqlite3* db)
      : RowReader(db,
                  "SELECT seq, phase, step, path, checksum, bytes FROM checkpoints ORDER BY 1") {}
  absl::StatusOr<Fact> Get() const override {
    CheckpointFact fact;
    fact.name.set_phase(static_cast<v1::UpdateName::Phase>(statement_.Int(1)));
    fact.name.set_step(statement_.Int(2));
    fact.path = statement_.Bytes(3);
    fact.checksum = statement_.Bytes(4);
    fact.bytes = statement_.Int(5);
    return fact;
  }
};

class CalibrationReader final : public RowReader {
 public:
  explicit CalibrationReader(sqlite3* db)
      : RowReader(db, "SELECT seq, host_id, problem_hash, proto FROM calibrations ORDER BY 1") {}
  absl::StatusOr<Fact> Get() const override {
    CalibrationFact fact{statement_.Bytes(1), statement_.Bytes(2), {}};
    RETURN_IF_ERROR(statement_.Parse(3, &fact.calibration));
    return fact;
  }
};

}  // namespace

std::vector<std::unique_ptr<RowReader>> MakeRowReaders(sqlite3* db) {
  std::vector<std::unique_ptr<RowReader>> readers;
  readers.push_back(std::make_unique<PromptReader>(db));
  readers.push_back(std::make_unique<RolloutReader>(db));
  readers.push_back(std::make_unique<VerdictReader>(db));
  readers.push_back(std::make_unique<LeaderReader>(db));
  readers.push_back(std::make_unique<UpdateReader>(db));
  readers.push_back(std::make_unique<CheckpointReader>(db));
  readers.push_back(std::make_unique<CalibrationReader>(db));
  return readers;
}

RowWriter::RowWriter(sqlite3* db)
    : prompts_(db, "INSERT INTO prompts VALUES (?, ?, ?, ?)"),
      rollouts_(db, "INSERT INTO rollouts VALUES (?, ?, ?, ?, ?, ?, ?)"),
      verdicts_(db, "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      leaders_(db, "INSERT INTO leaders VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      updates_(db, "INSERT INTO updates VALUES (?, ?, ?, ?, ?, ?, ?)"),
      checkpoints_(db, "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)"),
      calibrations_(db, "INSERT INTO calibrations VALUES (?, ?, ?, ?, ?, ?)") {}

absl::Status RowWriter::Write(int64_t seq, const Fact& fact) {
  return std::visit([&](const auto& f) { return Insert(seq, f); }, fact);
}

absl::Status RowWriter::Insert(int64_t seq, const PromptFact& f) {
  return prompts_.Bind(seq).Bind(f.step).Bind(int64_t{f.prompt.problem()}).Proto(f.prompt).Run();
}

absl::Status RowWriter::Insert(int64_t seq, const RolloutFact& f) {
  return rollouts_.Bind(seq)
      .Bind(f.step)
      .Bind(int64_t{f.completion.problem()})
      .Bind(int64_t{f.completion.sample()})
      .Bind(int64_t{f.completion.ids_size()})
      .Text(f.completion.text())
      .Proto(f.completion)
      .Run();
}

absl::Status RowWriter::Insert(int64_t seq, const VerdictFact& f) {
  return verdicts_.Bind(seq)
      .Bind(f.step)
      .Bind(int64_t{f.group})
      .Bind(int64_t{f.sample})
      .Text(v1::Outcome_Name(f.verdict.outcome()))
      .Bind(f.reward)
      .Bind(int64_t{f.dropped})
      .Bind(f.verdict.speedup())
      .Text(f.verdict.detail())
      .Proto(f.verdict)
      .Run();
}

absl::Status RowWriter::Insert(int64_t seq, const LeaderFact& f) {
  return leaders_.Bind(seq)
      .Bind(f.step)
      .Bind(int64_t{f.group})
      .Bind(int64_t{f.sample})
      .Text(f.problem_id)
      .Bind(int64_t{f.accepted})
      .Bind(f.verdict.speedup())
      .Text(f.source)
      .Proto(f.verdict)
      .Run();
}

absl::Status RowWriter::Insert(int64_t seq, const UpdateFact& f) {
  nlohmann::json row = nlohmann::json::object();
  for (const auto& [key, value] : f.row) row[key] = value;
  return updates_.Bind(seq)
      .Bind(int64_t{f.request.name().phase()})
      .Bind(int64_t{f.request.name().step()})
      .Bind(int64_t{f.response.applied()})
      .Text(row.dump())
      .Proto(f.request)
      .Proto(f.response)
      .Run();
}

absl::Status RowWriter::Insert(int64_t seq, const CheckpointFact& f) {
  return checkpoints_.Bind(seq)
      .Bind(int64_t{f.name.phase()})
      .Bind(int64_t{f.name.step()})
      .Text(f.path)
      .Text(f.checksum)
      .Bind(f.bytes)
      .Run();
}

absl::Status RowWriter::Insert(int64_t seq, const CalibrationFact& f) {
  return calibrations_.Bind(seq)
      .Text(f.host_id)
      .Text(f.problem_hash)
      .Bind(f.calibration.expert().speedup())
      .Bind(f.calibration.noise_band())
      .Proto(f.calibration)
      .Run();
}

}  // namespace whetstone
