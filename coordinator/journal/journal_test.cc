#include "coordinator/journal/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "coordinator/campaign/campaign_fakes.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/journal/journal_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

constexpr int64_t kTime = 1'790'000'000'000'000;

class JournalTest : public testing::Test {
 protected:
  // The campaign was really lived through, with every kind of entry.
  static const World& Lived() {
    static World* const world = [] {
      auto* w = new World({.seed = 11,
                           .workers = 2,
                           .faults = 20,
                           .steps = 4,
                           .warmup = 2,
                           .sets = {"eval.problems=[/v.md, /w.md]", "eval.every=2"}});
      EXPECT_EQ(w->Live(), "");
      return w;
    }();
    return *world;
  }
  static std::string Fingerprint(const std::vector<JournalEntry>& entries) {
    DurableState durable(&Lived().plan());
    for (const JournalEntry& entry : entries) durable.Apply(entry);
    return durable.Fingerprint();
  }
  static std::vector<JournalEntry> Read(const Journal& journal) {
    std::vector<JournalEntry> entries;
    const absl::Status status = journal.ForEach([&](const JournalEntry& entry) {
      entries.push_back(entry);
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    return entries;
  }

  void Sql(const std::string& sql) const { RunSql(path_, sql); }
  void WriteFiftyRollouts() const {
    auto journal = *Journal::Create(path_, "c");
    RolloutEntry rollout{1, {}};
    for (int i = 0; i < 50; ++i) {
      rollout.completion.set_sample(i);
      rollout.completion.set_text(std::string(3000, 'x'));
      ASSERT_TRUE(journal->Append({rollout}, kTime).ok());
    }
  }
  // "table.column TYPE", in order, of the tables that `which` says.
  std::vector<std::string> Columns(const std::string& which) const {
    return RunSql(
        path_, absl::StrCat("SELECT m.name || '.' || c.name || ' ' || c.type FROM sqlite_master m, "
                            "pragma_table_info(m.name) c WHERE m.type = 'table' AND m.",
                            which, " ORDER BY m.rowid, c.cid"));
  }
  std::string OpenError() const { return std::string(Journal::Open(path_).status().message()); }

  TempDir folder_ = *TempDir::Make("journal");
  const std::string path_ = folder_.path() + "/journal.db";
};

TEST_F(JournalTest, GivesBackEveryFactInOrder) {
  {
    auto journal = *Journal::Create(path_, "camp-1");
    std::vector<JournalEntry> batch;
    for (const JournalEntry& entry : Lived().journal()) {
      batch.push_back(entry);
      if (batch.size() == 3) {
        ASSERT_TRUE(journal->Append(batch, kTime).ok());
        batch.clear();
      }
    }
    ASSERT_TRUE(journal->Append(batch, kTime).ok());
  }
  const auto journal = *Journal::Open(path_);
  EXPECT_EQ(journal->campaign_id(), "camp-1");
  const std::vector<JournalEntry> entries = Read(*journal);
  ASSERT_EQ(entries.size(), Lived().journal().size());
  const std::vector<v1::UpdateRequest> requests = *Lived().Requests();
  size_t updates = 0, evaluations = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    ASSERT_EQ(entries[i].index(), Lived().journal()[i].index()) << i;
    if (const auto* evaluation = std::get_if<EvaluationEntry>(&entries[i])) {
      const auto& want = std::get<EvaluationEntry>(Lived().journal()[i]);
      EXPECT_EQ(evaluation->row, want.row);
      EXPECT_EQ(evaluation->name.ShortDebugString(), want.name.ShortDebugString());
      ++evaluations;
    }
    if (const auto* update = std::get_if<UpdateEntry>(&entries[i])) {
      const auto& want = std::get<UpdateEntry>(Lived().journal()[i]);
      EXPECT_EQ(update->row, want.row);
      const auto found = journal->FindUpdateRequest(Lived().plan(), want.name);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(found->SerializeAsString(), requests[updates++].SerializeAsString());
    }
  }
  EXPECT_EQ(evaluations, 3u) << "of the policies that 0, 2 and 4 steps made";
  EXPECT_EQ(Fingerprint(entries), Fingerprint(Lived().journal()));
}

TEST_F(JournalTest, TheNewestVerdictsAndTheirCompletionsAreFound) {
  const auto journal = *Journal::Create(path_, "camp-1");
  ASSERT_TRUE(journal->Append(Lived().journal(), kTime).ok());
  std::vector<VerdictEntry> want;
  std::map<std::string, v1::Completion> completions;
  const auto key = [](int64_t step, int group_index, int sample) {
    return absl::StrCat(step, "/", group_index, "/", sample);
  };
  for (const JournalEntry& entry : Lived().journal()) {
    if (const auto* v = std::get_if<VerdictEntry>(&entry)) want.insert(want.begin(), *v);
    if (const auto* r = std::get_if<RolloutEntry>(&entry)) {
      completions[key(r->step, r->completion.group_index(), r->completion.sample())] =
          r->completion;
    }
  }
  ASSERT_GT(want.size(), 7u);
  for (const size_t count : {size_t{7}, want.size() + 1}) {
    std::vector<VerdictEntry> got;
    ASSERT_TRUE(journal
                    ->ForEachNewestVerdict(static_cast<int64_t>(count),
                                           [&](const VerdictEntry& v) { got.push_back(v); })
                    .ok());
    ASSERT_EQ(got.size(), std::min(count, want.size()));
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].verdict.SerializeAsString(), want[i].verdict.SerializeAsString()) << i;
      EXPECT_EQ(got[i].reward, want[i].reward);
      EXPECT_EQ(got[i].dropped, want[i].dropped);
      const auto completion =
          journal->FindCompletion(got[i].step, got[i].group_index, got[i].sample);
      ASSERT_TRUE(completion.ok()) << completion.status();
      EXPECT_EQ(
          completion->SerializeAsString(),
          completions[key(got[i].step, got[i].group_index, got[i].sample)].SerializeAsString());
    }
  }
  const absl::Status missing = journal->FindCompletion(99, 0, 1).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()),
              HasSubstr("no rollout of step 99, group 0, sample 1"));
}

TEST_F(JournalTest, ReplayAfterAnyNumberOfFactsIsThatMomentsState) {
  auto journal = *Journal::Create(path_, "c");
  DurableState live(&Lived().plan());
  for (size_t i = 0; i < Lived().journal().size(); ++i) {
    ASSERT_TRUE(journal->Append({Lived().journal()[i]}, kTime).ok());
    live.Apply(Lived().journal()[i]);
    if (i % 16 == 0) {
      const auto reader = *Journal::Open(path_, /*read_only=*/true);
      EXPECT_EQ(Fingerprint(Read(*reader)), live.Fingerprint()) << i;
    }
  }
}

TEST_F(JournalTest, AppendIsAllOrNothing) {
  auto journal = *Journal::Create(path_, "c");
  RolloutEntry rollout{1, {}};
  // The second is a duplicate of the first: the pair must leave no trace.
  EXPECT_FALSE(journal->Append({rollout, rollout}, kTime).ok());
  EXPECT_TRUE(Read(*journal).empty());
  EXPECT_TRUE(journal->Append({rollout}, kTime).ok());
  EXPECT_EQ(Read(*journal).size(), 1u);
}

TEST_F(JournalTest, AFullDiskIsAClearErrorAndNothingIsLost) {
  auto journal = *Journal::Create(path_, "c");
  RolloutEntry rollout{1, {}};
  ASSERT_TRUE(journal->Append({rollout}, kTime).ok());
  ASSERT_TRUE(journal->TEST_LimitPages(40).ok());
  absl::Status status;
  int written = 1;
  for (int i = 1; i < 100 && status.ok(); ++i) {
    rollout.completion.set_sample(i);
    rollout.completion.set_text(std::string(10'000, 'x'));
    status = journal->Append({rollout}, kTime);
    written += status.ok() ? 1 : 0;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_NE(status.message().find(path_), std::string::npos);
  EXPECT_NE(status.message().find("go on with whet resume"), std::string::npos);
  // With space again, in another process, all that was acknowledged is there, and it goes on.
  journal.reset();
  journal = *Journal::Open(path_);
  EXPECT_EQ(Read(*journal).size(), static_cast<size_t>(written));
  EXPECT_TRUE(journal->Append({rollout}, kTime).ok());
}

TEST_F(JournalTest, RefusesWhatIsNotAJournal) {
  EXPECT_EQ(Journal::Open(path_).status().code(), absl::StatusCode::kNotFound);
  std::ofstream(path_) << "certainly not a database, and long enough to be looked at twice";
  EXPECT_EQ(Journal::Open(path_).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Journal::Create(path_, "c").status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(JournalTest, RefusesADatabaseOfAnotherProgramAndANewerVersion) {
  Sql("CREATE TABLE meta(key TEXT, value TEXT)");
  EXPECT_THAT(OpenError(), HasSubstr("is not a campaign's journal: its header does not say so"));
  Sql("PRAGMA application_id = 4711");
  EXPECT_THAT(OpenError(), HasSubstr("of another program, application_id 4711"));
  std::filesystem::remove(path_);
  ASSERT_TRUE(Journal::Create(path_, "c").ok());
  Sql("PRAGMA user_version = 99");
  EXPECT_EQ(Journal::Open(path_).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(OpenError(), HasSubstr("schema version 99; this program reads versions 1 to"));
}

// Whoever only reads (whet status) learns which file it is, whatever is wrong in it.
TEST_F(JournalTest, DamageIsToldWithTheFile) {
  WriteFiftyRollouts();
  const std::string whole = *ReadFile(path_);
  const auto reading = [this](const absl::Status& said) {
    const auto journal = Journal::Open(path_, /*read_only=*/true);
    return journal.ok() ? (*journal)->ForEach([&](const JournalEntry&) { return said; })
                        : journal.status();
  };
  const auto expect_named = [this](const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
    EXPECT_THAT(std::string(status.message()), HasSubstr("restore "));
  };
  expect_named(reading(absl::DataLossError("the journal holds a second rollout")));
  Sql("UPDATE rollouts SET proto = x'ff' WHERE sample = 7");
  expect_named(reading(absl::OkStatus()));
  expect_named((*Journal::Open(path_))->Restore(Lived().plan()).status());
  Sql("INSERT INTO updates (seq, time_us, phase, step, crc) VALUES (1000, 1, 2, 1, 0)");
  expect_named((*Journal::Open(path_))->ForEachRow([](const MetricsRow&) {}));
  std::string holed = whole;
  holed.replace(20 * 4096, 4096, 4096, '\x5a');
  ASSERT_TRUE(WriteFileAtomically(path_, holed).ok());
  expect_named(reading(absl::OkStatus()));
  ASSERT_TRUE(WriteFileAtomically(path_, whole).ok());
  EXPECT_EQ(reading(absl::CancelledError("enough")).message(), "enough");
}

TEST_F(JournalTest, DamageIsFoundBeforeAnythingIsBuiltOnIt) {
  WriteFiftyRollouts();
  const std::string whole = *ReadFile(path_);
  ASSERT_TRUE(WriteFileAtomically(path_, whole.substr(0, whole.size() / 2 / 4096 * 4096)).ok());
  const auto skip = [](const JournalEntry&) { return absl::OkStatus(); };
  const auto read_error = [&]() -> absl::Status {
    const auto journal = Journal::Open(path_);
    return journal.ok() ? (*journal)->ForEach(skip) : journal.status();
  };
  EXPECT_EQ(read_error().code(), absl::StatusCode::kDataLoss) << "torn";
  std::string holed = whole;
  holed.replace(40 * 4096, 4096, 4096, '\x5a');
  ASSERT_TRUE(WriteFileAtomically(path_, holed).ok());
  EXPECT_EQ(read_error().code(), absl::StatusCode::kDataLoss) << "overwritten";
  EXPECT_THAT(std::string(read_error().message()), HasSubstr(path_));
  // SQLite has no objection to these.
  std::string flipped = whole;
  flipped[whole.find("xxxx") + 1000] ^= 0x10;
  ASSERT_TRUE(WriteFileAtomically(path_, flipped).ok());
  EXPECT_EQ(read_error().code(), absl::StatusCode::kDataLoss) << "a flipped bit";
  EXPECT_THAT(std::string(read_error().message()),
              testing::MatchesRegex(absl::StrCat(path_,
                                                 ": entry [0-9]+ in table rollouts is "
                                                 "damaged: its checksum .* back-up.*")));
  ASSERT_TRUE(WriteFileAtomically(path_, whole).ok());
  Sql("DELETE FROM rollouts WHERE sample = 7");
  EXPECT_THAT(std::string(read_error().message()), HasSubstr("entry 8 is missing"));
}

TEST_F(JournalTest, WhicheverColumnOfWhicheverTableIsChangedIsNoticed) {
  {
    auto journal = *Journal::Create(path_, "c");
    ASSERT_TRUE(journal->Append(Lived().journal(), kTime).ok());
    ASSERT_TRUE(journal->Append({StartEntry{"host", "boot", "1.0"}}, kTime).ok());
  }
  const std::string whole = *ReadFile(path_);
  int columns = 0;
  for (const std::string& column : Columns("name NOT IN ('meta', 'changes', 'snapshots')")) {
    const std::vector<std::string> parts = absl::StrSplit(column, absl::ByAnyChar(". "));
    ASSERT_TRUE(WriteFileAtomically(path_, whole).ok());
    Sql(absl::StrCat("UPDATE ", parts[0], " SET ", parts[1], " = ",
                     parts[1] == "seq" ? "1 << 40"
                     : parts[2] == "BLOB" || parts[2] == "TEXT"
                         ? absl::StrCat("coalesce(", parts[1], ", '') || 'x'")
                         : absl::StrCat("coalesce(", parts[1], ", 0) + 1000"),
                     " WHERE seq = (SELECT max(seq) FROM ", parts[0], ")")
            .c_str());
    const absl::Status status =
        (*Journal::Open(path_))->ForEach([](const JournalEntry&) { return absl::OkStatus(); });
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << column;
    if (parts[1] != "seq") {
      EXPECT_THAT(std::string(status.message()), HasSubstr("in table " + parts[0])) << column;
    }
    ++columns;
  }
  EXPECT_GT(columns, 70);
}

TEST_F(JournalTest, PathsBelowTheRunAreRelativeToIt) {
  const CheckpointEntry inside{{}, folder_.path() + "/checkpoints/step-2", "sum", 1};
  const CheckpointEntry outside{{}, "/elsewhere/step-4", "sum", 1};
  ASSERT_TRUE((*Journal::Create(path_, "c"))->Append({inside, outside}, kTime).ok());
  const std::string moved = folder_.path() + "/moved";
  ASSERT_TRUE(MakeDirectories(moved).ok());
  std::filesystem::rename(path_, moved + "/journal.db");
  const std::vector<JournalEntry> entries = Read(**Journal::Open(moved + "/journal.db"));
  EXPECT_EQ(std::get<CheckpointEntry>(entries[0]).path, moved + "/checkpoints/step-2");
  EXPECT_EQ(std::get<CheckpointEntry>(entries[1]).path, outside.path);
}

TEST_F(JournalTest, EveryRowHasTheTimeItWasAppendedAt) {
  {
    auto journal = *Journal::Create(path_, "c");
    UpdateEntry update{Lived().plan().NameOf(1)};
    ASSERT_TRUE(journal->Append({RolloutEntry{1, {}}, update}, kTime).ok());
    update.name = Lived().plan().NameOf(2);
    ASSERT_TRUE(journal->Append({update}, kTime + 1).ok());
  }
  std::vector<int64_t> times;
  ASSERT_TRUE((*Journal::Open(path_))
                  ->ForEachRow([&](const MetricsRow& row) { times.push_back(*row.time_us); })
                  .ok());
  EXPECT_EQ(times, (std::vector<int64_t>{kTime, kTime + 1}));
  EXPECT_EQ(RunSql(path_, "SELECT time_us FROM rollouts"),
            (std::vector<std::string>{absl::StrCat(kTime)}));
}

// What the trainer is asked for is built from the rollouts: neither text nor ids are there twice.
TEST_F(JournalTest, ARolloutIsStoredOnce) {
  {
    auto journal = *Journal::Create(path_, "c");
    RolloutEntry rollout{1, {}};
    rollout.completion.set_text("a text that is nowhere else");
    for (int i = 0; i < 100; ++i) {
      rollout.completion.add_ids(30'000 + i);
      rollout.completion.add_sampling_logprobs(-0.5f);
    }
    ASSERT_TRUE(journal->Append({rollout}, kTime).ok());
  }
  const std::string bytes = *ReadFile(path_);
  const size_t once = bytes.find("a text that is nowhere else");
  ASSERT_NE(once, std::string::npos);
  EXPECT_EQ(bytes.find("a text that is nowhere else", once + 1), std::string::npos);
}

// docs/formats/journal.md has a section for each table and a line for each column, and no other.
TEST_F(JournalTest, ItsDocumentNamesEveryColumn) {
  ASSERT_TRUE(Journal::Create(path_, "c").ok());
  const std::vector<std::string> wanted = Columns("name NOT NULL");
  std::vector<std::string> documented;
  std::string table;
  const std::string text = *ReadFile(SourceDir() + "/docs/formats/journal.md");
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    if (absl::StartsWith(line, "## `")) table = line.substr(4, line.rfind('`') - 4);
    if (absl::StartsWith(line, "| `") && cells.size() == 3) {
      documented.push_back(
          absl::StrCat(table, ".", cells[0].substr(3, cells[0].size() - 4), " ", cells[1]));
    }
  }
  EXPECT_THAT(documented, testing::ElementsAreArray(wanted));
}

TEST_F(JournalTest, AHalfWrittenTailIsLeftOut) {
  auto journal = *Journal::Create(path_, "c");
  RolloutEntry rollout{1, {}};
  ASSERT_TRUE(journal->Append({rollout}, kTime).ok());
  // A process that is killed leaves it so: the write-ahead log is there, its end torn.
  const std::string copy = folder_.path() + "/copy.db";
  ASSERT_TRUE(WriteFileAtomically(copy, *ReadFile(path_)).ok());
  std::string wal = *ReadFile(path_ + "-wal");
  rollout.completion.set_sample(1);
  ASSERT_TRUE(journal->Append({rollout}, kTime).ok());
  const std::string longer = *ReadFile(path_ + "-wal");
  ASSERT_GT(longer.size(), wal.size());
  wal = longer.substr(0, wal.size() + (longer.size() - wal.size()) / 2);
  ASSERT_TRUE(WriteFileAtomically(copy + "-wal", wal).ok());
  const auto torn = *Journal::Open(copy);
  EXPECT_EQ(Read(*torn).size(), 1u);
}

}  // namespace
}  // namespace whetstone
