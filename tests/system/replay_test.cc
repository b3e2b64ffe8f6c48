// A deterministic run proves itself: killed again and again and resumed, it is what an undisturbed
// replay of its journal gives, bit for bit; and a journal that was tampered with is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "common/tree_testing.h"
#include "coordinator/journal/journal_tables.h"
#include "coordinator/journal/row_crc.h"
#include "tests/system/whet_fixture.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kWarmup = 3;
constexpr int kSteps = 6;

class ReplayTest : public WhetTest {
 protected:
  // Starts a run with a warm-up and then steps whose rewards differ: completions end early or late,
  // and length costs.
  std::unique_ptr<BackgroundProgram> StartRun(const std::string& dtype, int ranks = 1) {
    const std::string campaign = WriteCampaign(
        kSteps, absl::StrCat("deterministic: true\n"
                             "local: {threads: 2, dtype: ",
                             dtype, ", device: cpu, ranks: ", ranks,
                             "}\n"
                             "reward: {overlong_buffer: 24}\n"
                             "warmup: {examples: ",
                             SourceDir(),
                             "/prompts/warmup.jsonl, nearest: 10, batch_size: 4, lr: 1.0e-3}\n"));
    return StartWhet({"run", campaign, "--run-dir", RunDirectory(), "--set",
                      "train.token_budget=300", "--set", "generate.stop=[e, t]"});
  }

  // Waits until there are `wanted` of what `rows` counts.
  static void WaitUntil(const std::function<size_t()>& rows, BackgroundProgram& run,
                        size_t wanted) {
    ASSERT_TRUE(Eventually([&] { return rows() >= wanted || run.Ended(); }));
    if (run.Ended()) {
      EXPECT_EQ(run.Wait(std::chrono::seconds(0)).exit_code, 0) << run.err();
    }
  }
  void WaitForUpdates(BackgroundProgram& run, size_t wanted) const {
    WaitUntil([this] { return Metrics().size(); }, run, wanted);
  }
  void WaitForRollouts(BackgroundProgram& run, size_t wanted) const {
    WaitUntil([this] { return Rollouts().size(); }, run, wanted);
  }
  void WaitForVerdicts(BackgroundProgram& run, size_t wanted) const {
    WaitUntil([this] { return Verdicts().size(); }, run, wanted);
  }

  void KillAll(const std::string& service) const {
    for (const pid_t pid : ServicesOf(service)) kill(pid, SIGKILL);
  }

  // Kills at many moments: in warm-up, generation and measuring, and after an update.
  void RunKilledAgainAndAgain(const std::string& dtype) {
    auto run = StartRun(dtype);
    WaitForUpdates(*run, 1);
    run->Signal(SIGKILL);
    run->Wait(std::chrono::seconds(5));

    run = StartWhet({"resume", RunDirectory()});
    WaitForRollouts(*run, 4 + 1);
    KillAll("whet-trainer");
    WaitForVerdicts(*run, 4 + 2);
    KillAll("whet-worker");
    WaitForRollouts(*run, 4 * 2 + 2);
    run->Signal(SIGKILL);
    run->Wait(std::chrono::seconds(5));

    run = StartWhet({"resume", RunDirectory()});
    WaitForUpdates(*run, kWarmup + 4);
    run->Signal(SIGKILL);
    run->Wait(std::chrono::seconds(5));

    const WhetResult end = Whet({"resume", RunDirectory()});
    ASSERT_EQ(end.exit_code, 0) << end.out << end.err;
    ASSERT_EQ(Rollouts().size(), 4u * kSteps);
    ASSERT_EQ(Metrics().size(), static_cast<size_t>(kWarmup + kSteps));
    // Otherwise there would be nothing to prove.
    double moved = 0;
    for (const nlohmann::json& row : Metrics()) {
      if (row["phase"] == "grpo") moved += row["grad_norm"].get<double>();
    }
    ASSERT_GT(moved, 0);
  }

  WhetResult Replay(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"replay", RunDirectory()};
    words.insert(words.end(), more.begin(), more.end());
    return Whet(words);
  }

  // Returns files and their sizes, but for what reading a database in WAL mode leaves beside it.
  std::string Listing() const {
    std::map<std::string, uintmax_t> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(RunDirectory())) {
      const std::string path = entry.path().string();
      if (absl::EndsWith(path, "-shm") || absl::EndsWith(path, "-wal")) continue;
      files[path] = entry.is_regular_file() ? entry.file_size() : 0;
    }
    std::string text;
    for (const auto& [path, size] : files) absl::StrAppend(&text, path, " ", size, "\n");
    return text;
  }

  // Gives the rows of a table that was altered checksums that fit.
  void Reseal(const JournalTable& table) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((RunDirectory() + "/journal.db").c_str(), &db), SQLITE_OK);
    ASSERT_TRUE(AddRowCrc(db).ok());
    const std::string sql =
        absl::StrCat("UPDATE ", table.name, " SET crc = row_crc(", table.columns, ")");
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  void ExpectDifference(const std::vector<std::string>& more,
                        const testing::Matcher<std::string>& how) {
    const WhetResult result = Replay(more);
    EXPECT_EQ(result.exit_code, 3) << result.out << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("journal"), how));
  }
};

TEST_F(ReplayTest, ARunKilledAgainAndAgainIsItsOwnReplay) {
  RunKilledAgainAndAgain("bf16");
  const std::string before = Listing();
  const WhetResult result = Replay({"--keep", Path("again"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(result.json()["updates"], kWarmup + kSteps);
  EXPECT_EQ(result.json()["rollouts"], 4 * kSteps);
  EXPECT_EQ(result.json()["checkpoints"], 1 + kSteps / 2);
  EXPECT_THAT(result.err, HasSubstr("bit for bit equal"));
  EXPECT_EQ(Listing(), before) << "a replay only reads";
  for (const char* file : {"model.safetensors", "resume/optimizer.safetensors"}) {
    const std::string name = absl::StrCat("/step-", kSteps, "/", file);
    EXPECT_EQ(*ReadFile(RunDirectory() + "/checkpoints" + name), *ReadFile(Path("again") + name))
        << file;
  }

  // A row that fits its checksum no more is refused.
  Journal("UPDATE verdicts SET detail = 'x' || detail WHERE step = 3 AND sample = 2");
  ExpectDifference({}, HasSubstr("in table verdicts is damaged"));
  Reseal(kVerdicts);

  // Each alteration of the journal is found where it is, and the steps before it are not blamed.
  const auto altered = [this](const JournalTable& table, const std::string& sql,
                              const std::string& undo, const std::vector<std::string>& more,
                              const testing::Matcher<std::string>& how) {
    Journal(sql);
    Reseal(table);
    ExpectDifference(more, how);
    Journal(undo);
    Reseal(table);
  };
  altered(
      kVerdicts, "UPDATE verdicts SET reward = reward + 0.001 WHERE step = 3 AND sample = 1",
      "UPDATE verdicts SET reward = reward - 0.001 WHERE step = 3 AND sample = 1", {"--to", "3"},
      HasSubstr("step 3: the update that follows from its rollouts and verdicts is not the one"));
  altered(kCheckpoints,
          "UPDATE checkpoints SET checksum = 'x' || checksum WHERE phase = 2 AND step = 2",
          "UPDATE checkpoints SET checksum = substr(checksum, 2) WHERE phase = 2 AND step = 2",
          {"--to", "2"}, HasSubstr("step 2: checkpoint"));
  const std::string rollout = "step = 2 AND grp = 0 AND sample = 3";
  v1::Completion completion;
  ASSERT_TRUE(completion.ParseFromString(absl::HexStringToBytes(
      Journal("SELECT hex(proto) FROM rollouts WHERE " + rollout).begin()->first)));
  completion.set_ids(0, completion.ids(0) + 1);
  Journal(absl::StrCat("UPDATE rollouts SET proto = x'",
                       absl::BytesToHexString(completion.SerializeAsString()), "' WHERE ",
                       rollout));
  Reseal(kRollouts);
  ExpectDifference(
      {},
      AllOf(HasSubstr("step 2, group 0 (multiply), sample 3"),
            HasSubstr(absl::StrCat("ids[0]: ", completion.ids(0), " -> ", completion.ids(0) - 1))));
}

TEST_F(ReplayTest, BySeveralRanksInSinglePrecision) {
  const auto run = StartRun("fp32", /*ranks=*/2);
  WaitForUpdates(*run, kWarmup + 3);
  run->Signal(SIGKILL);
  run->Wait(std::chrono::seconds(5));
  const WhetResult end = Whet({"resume", RunDirectory()});
  ASSERT_EQ(end.exit_code, 0) << end.out << end.err;
  ASSERT_EQ(Metrics().size(), static_cast<size_t>(kWarmup + kSteps));
  EXPECT_EQ(Metrics().back()["perf/ranks"], 2);
  const WhetResult result = Replay();
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("bit for bit equal"));
}

TEST_F(ReplayTest, AStepThatWasCutOffIsReplayedAsFarAsItWent) {
  const auto run = StartRun("bf16");
  WaitForUpdates(*run, kWarmup + 1);
  WaitForRollouts(*run, 4 + 1);
  // A run that is alive is left alone.
  const WhetResult alive = Replay();
  EXPECT_EQ(alive.exit_code, 2);
  EXPECT_THAT(alive.err, HasSubstr(absl::StrCat("in use by process ", run->pid())));
  run->Signal(SIGKILL);
  run->Wait(std::chrono::seconds(5));
  const WhetResult result = Replay({"--json"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(result.json()["rollouts"], Rollouts().size());
}

TEST_F(ReplayTest, WhatCanNotBeReplayedIsRefused) {
  const WhetResult run = Whet({"run", WriteCampaign(1), "--run-dir", RunDirectory()});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const WhetResult result = Replay();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("without 'deterministic: true'"));
}

}  // namespace
}  // namespace whetstone
