#include "coordinator/journal.h"

#include <sqlite3.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "coordinator/sqlite_statement.h"

namespace whetstone {
namespace {

constexpr char kSchemaVersion[] = "1";

constexpr char kSchema[] = R"sql(
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

// One table's share of a replay: its rows in order of seq, merged with the others' by the caller.
class Reader {
 public:
  Reader(sqlite3* db, const char* sql) : statement_(db, sql) {}
  virtual ~Reader() = default;
  absl::Status Advance() {
    ASSIGN_OR_RETURN(more_, statement_.Step());
    return absl::OkStatus();
  }
  bool more() const { return more_; }
  int64_t seq() const { return statement_.Int(0); }
  virtual absl::StatusOr<Fact> Get() const = 0;

 protected:
  Statement statement_;
  bool more_ = false;
};

class PromptReader final : public Reader {
 public:
  explicit PromptReader(sqlite3* db)
      : Reader(db, "SELECT seq, step, proto FROM prompts ORDER BY 1") {}
  absl::StatusOr<Fact> Get() const override {
    PromptFact fact{statement_.Int(1), {}};
    RETURN_IF_ERROR(statement_.Parse(2, &fact.prompt));
    return fact;
  }
};

class RolloutReader final : public Reader {
 public:
  explicit RolloutReader(sqlite3* db)
      : Reader(db, "SELECT seq, step, proto FROM rollouts ORDER BY 1") {}
  absl::StatusOr<Fact> Get() const override {
    RolloutFact fact{statement_.Int(1), {}};
    RETURN_IF_ERROR(statement_.Parse(2, &fact.completion));
    return fact;
  }
};

class VerdictReader final : public Reader {
 public:
  explicit VerdictReader(sqlite3* db)
      : Reader(db,
               "SELECT seq, step, grp, sample, reward, dropped, proto FROM verdicts ORDER BY 1") {}
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

class LeaderReader final : public Reader {
 public:
  explicit LeaderReader(sqlite3* db)
      : Reader(db,
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

absl::StatusOr<std::map<std::string, double>> ParseRow(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::DataLossError("journal: a damaged row of metrics");
  std::map<std::string, double> row;
  for (const auto& [key, value] : json.items()) {
    if (value.is_number()) row[key] = value.get<double>();
  }
  return row;
}

class UpdateReader final : public Reader {
 public:
  explicit UpdateReader(sqlite3* db)
      : Reader(db, "SELECT seq, row, request, response FROM updates ORDER BY 1") {}
  absl::StatusOr<Fact> Get() const override {
    UpdateFact fact;
    ASSIGN_OR_RETURN(fact.row, ParseRow(statement_.Bytes(1)));
    RETURN_IF_ERROR(statement_.Parse(2, &fact.request));
    RETURN_IF_ERROR(statement_.Parse(3, &fact.response));
    return fact;
  }
};

class CheckpointReader final : public Reader {
 public:
  explicit CheckpointReader(sqlite3* db)
      : Reader(db, "SELECT seq, phase, step, path, checksum, bytes FROM checkpoints ORDER BY 1") {}
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

class CalibrationReader final : public Reader {
 public:
  explicit CalibrationReader(sqlite3* db)
      : Reader(db, "SELECT seq, host_id, problem_hash, proto FROM calibrations ORDER BY 1") {}
  absl::StatusOr<Fact> Get() const override {
    CalibrationFact fact{statement_.Bytes(1), statement_.Bytes(2), {}};
    RETURN_IF_ERROR(statement_.Parse(3, &fact.calibration));
    return fact;
  }
};

// One INSERT per kind of fact.
class Writer {
 public:
  Writer(sqlite3* db, int64_t seq) : db_(db), seq_(seq) {}

  absl::Status operator()(const PromptFact& f) const {
    return Statement(db_, "INSERT INTO prompts VALUES (?, ?, ?, ?)")
        .Bind(seq_)
        .Bind(f.step)
        .Bind(int64_t{f.prompt.problem()})
        .Proto(f.prompt)
        .Run();
  }
  absl::Status operator()(const RolloutFact& f) const {
    return Statement(db_, "INSERT INTO rollouts VALUES (?, ?, ?, ?, ?, ?, ?)")
        .Bind(seq_)
        .Bind(f.step)
        .Bind(int64_t{f.completion.problem()})
        .Bind(int64_t{f.completion.sample()})
        .Bind(int64_t{f.completion.ids_size()})
        .Text(f.completion.text())
        .Proto(f.completion)
        .Run();
  }
  absl::Status operator()(const VerdictFact& f) const {
    return Statement(db_, "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .Bind(seq_)
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
  absl::Status operator()(const LeaderFact& f) const {
    return Statement(db_, "INSERT INTO leaders VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .Bind(seq_)
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
  absl::Status operator()(const UpdateFact& f) const {
    nlohmann::json row = nlohmann::json::object();
    for (const auto& [key, value] : f.row) row[key] = value;
    return Statement(db_, "INSERT INTO updates VALUES (?, ?, ?, ?, ?, ?, ?)")
        .Bind(seq_)
        .Bind(int64_t{f.request.name().phase()})
        .Bind(int64_t{f.request.name().step()})
        .Bind(int64_t{f.response.applied()})
        .Text(row.dump())
        .Proto(f.request)
        .Proto(f.response)
        .Run();
  }
  absl::Status operator()(const CheckpointFact& f) const {
    return Statement(db_, "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)")
        .Bind(seq_)
        .Bind(int64_t{f.name.phase()})
        .Bind(int64_t{f.name.step()})
        .Text(f.path)
        .Text(f.checksum)
        .Bind(f.bytes)
        .Run();
  }
  absl::Status operator()(const CalibrationFact& f) const {
    return Statement(db_, "INSERT INTO calibrations VALUES (?, ?, ?, ?, ?, ?)")
        .Bind(seq_)
        .Text(f.host_id)
        .Text(f.problem_hash)
        .Bind(f.calibration.expert().speedup())
        .Bind(f.calibration.noise_band())
        .Proto(f.calibration)
        .Run();
  }

 private:
  sqlite3* const db_;
  const int64_t seq_;
};

}  // namespace

absl::Status Journal::Error(int code, absl::string_view what) const {
  return SqliteError(db_, code, absl::StrCat(what, " ", path_));
}

absl::Status Journal::Execute(const char* sql) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code, "journal");
}

absl::Status Journal::OpenDatabase(int flags) {
  const int code = sqlite3_open_v2(path_.c_str(), &db_, flags, nullptr);
  if (code != SQLITE_OK) return Error(code, "cannot open the journal");
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_busy_timeout(db_, 5000);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::Create(const std::string& path,
                                                         const std::string& campaign_id) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return absl::AlreadyExistsError(absl::StrCat(path, " is already there"));
  }
  std::unique_ptr<Journal> journal(new Journal(path));
  RETURN_IF_ERROR(journal->OpenDatabase(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  RETURN_IF_ERROR(journal->Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"));
  RETURN_IF_ERROR(journal->Execute("BEGIN"));
  RETURN_IF_ERROR(journal->Execute(kSchema));
  const std::pair<const char*, std::string> metas[] = {{"schema_version", kSchemaVersion},
                                                       {"campaign_id", campaign_id}};
  for (const auto& [key, value] : metas) {
    RETURN_IF_ERROR(
        Statement(journal->db_, "INSERT INTO meta VALUES (?, ?)").Text(key).Text(value).Run());
  }
  RETURN_IF_ERROR(journal->Execute("COMMIT"));
  journal->campaign_id_ = campaign_id;
  return journal;
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(const std::string& path, bool read_only) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return absl::NotFoundError(absl::StrCat("no journal at ", path));
  }
  std::unique_ptr<Journal> journal(new Journal(path));
  RETURN_IF_ERROR(journal->OpenDatabase(read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE));
  if (!read_only) {
    RETURN_IF_ERROR(journal->Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"));
  }
  std::map<std::string, std::string> meta;
  Statement read(journal->db_, "SELECT key, value FROM meta");
  while (true) {
    absl::StatusOr<bool> more = read.Step();
    if (!more.ok()) {
      return absl::DataLossError(
          absl::StrCat(path, " is not a campaign's journal: ", more.status().message()));
    }
    if (!*more) break;
    meta[read.Bytes(0)] = read.Bytes(1);
  }
  if (meta["schema_version"] != kSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " has schema version '", meta["schema_version"],
                     "', this program reads version ", kSchemaVersion));
  }
  journal->campaign_id_ = meta["campaign_id"];
  RETURN_IF_ERROR(journal->ReadNextSeq());
  return journal;
}

absl::Status Journal::ReadNextSeq() {
  for (const char* sql : {"SELECT max(seq) FROM prompts", "SELECT max(seq) FROM rollouts",
                          "SELECT max(seq) FROM verdicts", "SELECT max(seq) FROM leaders",
                          "SELECT max(seq) FROM updates", "SELECT max(seq) FROM checkpoints",
                          "SELECT max(seq) FROM calibrations"}) {
    Statement read(db_, sql);
    ASSIGN_OR_RETURN(const bool row, read.Step());
    if (row) next_seq_ = std::max(next_seq_, read.Int(0) + 1);
  }
  return absl::OkStatus();
}

Journal::~Journal() { sqlite3_close(db_); }

absl::Status Journal::Append(const std::vector<Fact>& facts) {
  if (facts.empty()) return absl::OkStatus();
  const int64_t first = next_seq_;
  absl::Status status = Execute("BEGIN IMMEDIATE");
  for (const Fact& fact : facts) {
    if (!status.ok()) break;
    status = std::visit(Writer(db_, next_seq_++), fact);
  }
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) {
    next_seq_ = first;
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);  // best effort: the error counts
    return absl::Status(status.code(),
                        absl::StrCat("cannot write ", path_, ": ", status.message()));
  }
  return absl::OkStatus();
}

absl::Status Journal::ForEach(const std::function<absl::Status(const Fact&)>& visit) const {
  std::vector<std::unique_ptr<Reader>> readers;
  readers.push_back(std::make_unique<PromptReader>(db_));
  readers.push_back(std::make_unique<RolloutReader>(db_));
  readers.push_back(std::make_unique<VerdictReader>(db_));
  readers.push_back(std::make_unique<LeaderReader>(db_));
  readers.push_back(std::make_unique<UpdateReader>(db_));
  readers.push_back(std::make_unique<CheckpointReader>(db_));
  readers.push_back(std::make_unique<CalibrationReader>(db_));
  for (const auto& reader : readers) RETURN_IF_ERROR(reader->Advance());
  while (true) {
    Reader* first = nullptr;
    for (const auto& reader : readers) {
      if (reader->more() && (first == nullptr || reader->seq() < first->seq())) {
        first = reader.get();
      }
    }
    if (first == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Fact fact, first->Get());
    RETURN_IF_ERROR(visit(fact));
    RETURN_IF_ERROR(first->Advance());
  }
}

absl::StatusOr<v1::UpdateRequest> Journal::FindUpdateRequest(const v1::UpdateName& name) const {
  Statement read(db_, "SELECT request FROM updates WHERE phase = ? AND step = ?");
  read.Bind(int64_t{name.phase()}).Bind(int64_t{name.step()});
  ASSIGN_OR_RETURN(const bool found, read.Step());
  if (!found) {
    return absl::NotFoundError(absl::StrCat(
        path_, " holds no update ", v1::UpdateName::Phase_Name(name.phase()), " ", name.step()));
  }
  v1::UpdateRequest request;
  RETURN_IF_ERROR(read.Parse(0, &request));
  return request;
}

absl::Status Journal::ForEachRow(
    const std::function<void(const v1::UpdateName&, const std::map<std::string, double>&)>& visit)
    const {
  Statement read(db_, "SELECT phase, step, row FROM updates ORDER BY seq");
  while (true) {
    ASSIGN_OR_RETURN(const bool more, read.Step());
    if (!more) return absl::OkStatus();
    v1::UpdateName name;
    name.set_phase(static_cast<v1::UpdateName::Phase>(read.Int(0)));
    name.set_step(read.Int(1));
    ASSIGN_OR_RETURN(const auto row, ParseRow(read.Bytes(2)));
    visit(name, row);
  }
}

absl::StatusOr<bool> Journal::HasProgress() const {
  Statement read(db_, "SELECT EXISTS(SELECT 1 FROM rollouts) OR EXISTS(SELECT 1 FROM updates)");
  ASSIGN_OR_RETURN(const bool row, read.Step());
  return row && read.Int(0) != 0;
}

absl::Status Journal::TEST_LimitPages(int pages) {
  return Execute(absl::StrCat("PRAGMA max_page_count=", pages).c_str());
}

}  // namespace whetstone
