// Runs that earlier versions began go on, and nothing of them is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "coordinator/campaign/campaign_fakes.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/durable/request_builders.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/journal_testing.h"
#include "coordinator/journal/sqlite_statement.h"

namespace whetstone {
namespace {

// As version 2 had it.
constexpr char kSchema2[] = R"sql(
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
INSERT INTO meta VALUES ('campaign_id', 'old-1');
PRAGMA application_id = 1466459508;
PRAGMA user_version = 2;
)sql";

// Writes a file as version 2 did.
class Version2Writer {
 public:
  explicit Version2Writer(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db_, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db_, kSchema2, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db_);
  }
  ~Version2Writer() {
    statement_.reset();
    EXPECT_EQ(sqlite3_close(db_), SQLITE_OK);
  }
  void Write(const JournalEntry& entry) {
    const absl::Status status = std::visit([this](const auto& e) { return Insert(e); }, entry);
    EXPECT_TRUE(status.ok()) << status;
  }

  std::vector<v1::UpdateRequest> requests;  // of the updates to come, in order

 private:
  absl::Status Insert(const PromptEntry& e) {
    return Row("prompts", 4)
        .Bind(e.step)
        .Bind(int64_t{e.prompt.group_index()})
        .Proto(e.prompt)
        .Run();
  }
  absl::Status Insert(const RolloutEntry& e) {
    return Row("rollouts", 7)
        .Bind(e.step)
        .Bind(int64_t{e.completion.group_index()})
        .Bind(int64_t{e.completion.sample()})
        .Bind(int64_t{e.completion.ids_size()})
        .Text(e.completion.text())
        .Proto(e.completion)
        .Run();
  }
  absl::Status Insert(const VerdictEntry& e) {
    return Row("verdicts", 10)
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
  absl::Status Insert(const IncumbentEntry& e) {
    return Row("leaders", 9)
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
  absl::Status Insert(const UpdateEntry& e) {
    return Row("updates", 7)
        .Bind(int64_t{e.name.phase()})
        .Bind(int64_t{e.name.step()})
        .Bind(int64_t{e.response.applied()})
        .Text(nlohmann::json(e.row).dump())
        .Proto(requests[updates_++])
        .Proto(e.response)
        .Run();
  }
  absl::Status Insert(const CheckpointEntry& e) {
    return Row("checkpoints", 6)
        .Bind(int64_t{e.name.phase()})
        .Bind(int64_t{e.name.step()})
        .Text(e.path)
        .Text(e.checksum)
        .Bind(e.bytes)
        .Run();
  }
  absl::Status Insert(const CalibrationEntry& e) {
    return Row("calibrations", 6)
        .Text(e.host_id)
        .Text(e.problem_hash)
        .Bind(e.calibration.expert().speedup())
        .Bind(e.calibration.noise_band())
        .Proto(e.calibration)
        .Run();
  }
  absl::Status Insert(const StartEntry&) { return absl::OkStatus(); }  // there were none
  absl::Status Insert(const LoadEntry&) { return absl::OkStatus(); }
  absl::Status Insert(const ChangeEntry&) { return absl::OkStatus(); }
  absl::Status Insert(const EvaluationEntry&) { return absl::OkStatus(); }

  Statement& Row(const std::string& table, int columns) {
    std::string sql = absl::StrCat("INSERT INTO ", table, " VALUES (?");
    for (int i = 1; i < columns; ++i) sql += ", ?";
    statement_ = std::make_unique<Statement>(db_, (sql + ")").c_str());
    return statement_->Bind(++seq_);
  }

  sqlite3* db_ = nullptr;
  std::unique_ptr<Statement> statement_;
  int64_t seq_ = 0;
  size_t updates_ = 0;
};

class JournalMigrationTest : public testing::Test {
 protected:
  JournalMigrationTest() {
    EXPECT_EQ(world_.Live(), "");
    Version2Writer writer(path_);
    writer.requests = *world_.Requests();
    for (const JournalEntry& entry : world_.journal()) writer.Write(entry);
  }
  void Sql(const std::string& sql) const { RunSql(path_, sql); }
  void SetLastRequest(const v1::UpdateRequest& request) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    EXPECT_TRUE(
        Statement(db, "UPDATE updates SET request = ? WHERE seq = (SELECT max(seq) FROM updates)")
            .Proto(request)
            .Run()
            .ok());
    sqlite3_close(db);
  }
  void ExpectWhole(const Journal& journal) {
    EXPECT_EQ(journal.campaign_id(), "old-1");
    DurableState want(&world_.plan());
    for (const JournalEntry& entry : world_.journal()) want.Apply(entry);
    const auto got = journal.Restore(world_.plan());
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->Fingerprint(), want.Fingerprint());
    const std::vector<v1::UpdateRequest> requests = *world_.Requests();
    for (const v1::UpdateRequest& request : requests) {
      const auto found = journal.FindUpdateRequest(world_.plan(), request.name());
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(found->SerializeAsString(), request.SerializeAsString());
    }
  }

  World world_{{.seed = 11, .workers = 2, .faults = 20, .steps = 4, .warmup = 2}};
  TempDir folder_ = *TempDir::Make("migration");
  const std::string path_ = folder_.path() + "/journal.db";
};

TEST_F(JournalMigrationTest, ReadingLeavesTheFileAsItIs) {
  const std::string before = *ReadFile(path_);
  const auto journal = Journal::Open(path_, /*read_only=*/true);
  ASSERT_TRUE(journal.ok()) << journal.status();
  ExpectWhole(**journal);
  EXPECT_TRUE(*ReadFile(path_) == before);
}

TEST_F(JournalMigrationTest, WritingMakesItThisVersion) {
  Sql("INSERT INTO meta VALUES ('schema_version', '1'); PRAGMA application_id = 0; "
      "PRAGMA user_version = 0");  // version 1
  {
    const auto journal = Journal::Open(path_);
    ASSERT_TRUE(journal.ok()) << journal.status();
    ExpectWhole(**journal);
    EXPECT_TRUE((*journal)->Append({StartEntry{"host", "boot", "1"}}, 1).ok());
  }
  Sql("DELETE FROM meta WHERE key = 'schema_version'");
  const auto journal = Journal::Open(path_, /*read_only=*/true);
  ASSERT_TRUE(journal.ok()) << "the header says what it is now: " << journal.status();
  ExpectWhole(**journal);
  // A bit of an old text is noticed too from now on.
  Sql("UPDATE rollouts SET text = text || 'x' WHERE step = 2 AND grp = 0 AND sample = 1");
  EXPECT_THAT(std::string((*journal)->Restore(world_.plan()).status().message()),
              testing::HasSubstr("in table rollouts is damaged"));
}

// It had all of this version but a place for the step of a change.
TEST_F(JournalMigrationTest, Version3GoesOnToo) {
  std::filesystem::remove(path_);
  ASSERT_TRUE((*Journal::Create(path_, "old-1"))->Append(world_.journal(), 1).ok());
  Sql("DROP TABLE changes; CREATE TABLE changes(seq INTEGER PRIMARY KEY, time_us INTEGER, "
      "key TEXT, old TEXT, new TEXT, crc INTEGER); PRAGMA user_version = 3");
  const std::string before = *ReadFile(path_);
  {
    const auto journal = Journal::Open(path_, /*read_only=*/true);
    ASSERT_TRUE(journal.ok()) << journal.status();
    ExpectWhole(**journal);
    EXPECT_TRUE((*journal)->Changes()->empty());
  }
  EXPECT_TRUE(*ReadFile(path_) == before);
  {
    const auto journal = Journal::Open(path_);
    ASSERT_TRUE(journal.ok()) << journal.status();
    ExpectWhole(**journal);
    EXPECT_TRUE((*journal)->Append({ChangeEntry{5, "train.lr", "1", "2"}}, 1).ok());
  }
  const auto journal = Journal::Open(path_, /*read_only=*/true);
  ASSERT_TRUE(journal.ok()) << journal.status();
  ExpectWhole(**journal);
  EXPECT_EQ((*journal)->Changes()->size(), 1u);
}

TEST_F(JournalMigrationTest, ATextThatIsNotItsCopyIsDamage) {
  Sql("UPDATE rollouts SET text = text || 'x' WHERE step = 2 AND grp = 0 AND sample = 1");
  EXPECT_THAT(std::string(Journal::Open(path_).status().message()),
              testing::HasSubstr("its two copies of the text differ"));
}

// Another version of the program built its requests otherwise: they are kept as they were sent.
TEST_F(JournalMigrationTest, RequestsThatAreNotBuiltSoAnyMoreAreKept) {
  v1::UpdateRequest request = world_.Requests()->back();
  request.mutable_optimizer()->set_spike_factor(17);
  SetLastRequest(request);
  const auto found = (*Journal::Open(path_))->FindUpdateRequest(world_.plan(), request.name());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->SerializeAsString(), request.SerializeAsString());
}

// It had absolute paths: in a run that was moved or copied since they are another's.
TEST_F(JournalMigrationTest, ARunsOwnCheckpointsAreTheOnesBesideIt) {
  const auto path = [&](bool own_checkpoints) {
    const auto journal = *Journal::Open(path_, /*read_only=*/true, own_checkpoints);
    return journal->Restore(world_.plan())->checkpoints().front().path;
  };
  EXPECT_EQ(path(true), folder_.path() + "/checkpoints/warmup");
  EXPECT_EQ(path(false), "/ckpt/warmup");
}

TEST_F(JournalMigrationTest, TheReferenceModelOfARequestGoesWithTheRun) {
  v1::UpdateRequest request = world_.Requests()->back();
  v1::GrpoSettings* settings = request.mutable_grpo()->mutable_settings();
  const auto reference = [&](const std::string& stored) {
    settings->set_kl_reference(stored);
    SetLastRequest(request);
    const auto journal = *Journal::Open(path_, /*read_only=*/true, /*own_checkpoints=*/true);
    return journal->FindUpdateRequest(world_.plan(), request.name())
        ->grpo()
        .settings()
        .kl_reference();
  };
  EXPECT_EQ(reference("/ckpt/warmup"), folder_.path() + "/checkpoints/warmup");
  EXPECT_EQ(reference("/models/elsewhere"), "/models/elsewhere");
}

TEST_F(JournalMigrationTest, ADamagedFileIsLeftAsItIs) {
  std::string holed = *ReadFile(path_);
  holed.replace(holed.size() / 4096 / 2 * 4096, 4096, 4096, '\x5a');
  ASSERT_TRUE(WriteFileAtomically(path_, holed).ok());
  const absl::Status status = Journal::Open(path_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("back-up"));
  EXPECT_TRUE(*ReadFile(path_) == holed);
}

}  // namespace
}  // namespace whetstone
