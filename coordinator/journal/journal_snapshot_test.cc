// What follows from a snapshot and the entries after it is what follows from all entries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "coordinator/campaign/campaign_fakes.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/journal_testing.h"

namespace whetstone {
namespace {

constexpr int64_t kSnapshotTime = 1'790'000'000'000'000;

class JournalSnapshotTest : public testing::Test {
 protected:
  void Sql(const std::string& sql) const { RunSql(path_, sql); }
  int64_t Number(const std::string& sql) const { return std::stoll(RunSql(path_, sql).front()); }
  // Appends what a campaign lived through as the loop does: in batches, with a snapshot where one
  // is due.
  void Write(const World& world, int64_t snapshot_every) {
    auto journal = *Journal::Create(path_, world.plan().campaign_id);
    journal->TEST_SetSnapshotEvery(snapshot_every);
    DurableState live(&world.plan());
    std::mt19937 random(3);
    for (size_t begin = 0; begin < world.journal().size();) {
      const size_t end = std::min(begin + 1 + random() % 7, world.journal().size());
      std::vector<JournalEntry> batch;
      bool closes_step = false;
      for (; begin < end; ++begin) {
        batch.push_back(world.journal()[begin]);
        if (ClosesStep(batch.back()) && !live.open_steps().empty()) {
          closed_.push_back(live.open_steps().front());
        }
        live.Apply(batch.back());
        closes_step |= ClosesStep(batch.back());
      }
      std::optional<v1::StateSnapshot> snapshot;
      if (closes_step && live.SnapshotPossible() && journal->SnapshotDue()) {
        snapshot = live.Snapshot();
        // It can be gone on from, or Restore would begin with the first entry and say nothing.
        const auto begun = DurableState::BeginRestore(&world.plan(), *snapshot);
        ASSERT_TRUE(begun.ok()) << begun.status();
        ASSERT_EQ(begun->open_steps().size(), live.open_steps().size()) << "after " << end;
      }
      ASSERT_TRUE(journal->Append(batch, kSnapshotTime, snapshot).ok());
      snapshots_ += snapshot ? 1 : 0;
      const std::deque<StepRecord>& open = live.open_steps();
      ahead_ += snapshot && std::any_of(open.begin(), open.end(),
                                        [](const StepRecord& step) { return step.rollouts > 0; });
      if (random() % 4 != 0) continue;
      // A process that was killed here is followed by one that opens the file.
      const auto reader = *Journal::Open(path_, /*read_only=*/true);
      const auto restored = reader->Restore(world.plan());
      ASSERT_TRUE(restored.ok()) << restored.status();
      ASSERT_EQ(restored->Fingerprint(), live.Fingerprint()) << "after " << end << " entries";
    }
    fingerprint_ = live.Fingerprint();
  }
  // Each step is found as it was when it closed.
  void ExpectStepsFound(const World& world) const {
    const auto journal = *Journal::Open(path_, /*read_only=*/true);
    for (const StepRecord& want : closed_) {
      const auto got = journal->FindStep(world.plan(), want.step);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(Text(*got), Text(want));
    }
    const auto none = journal->FindStep(world.plan(), 99);
    EXPECT_TRUE(absl::IsNotFound(none.status())) << none.status();
  }
  static std::string Text(const StepRecord& step) {
    std::string text = absl::StrCat("step ", step.step, " refills ", step.refills, "\n");
    for (const GroupRecord& group : step.groups) {
      absl::StrAppend(&text, "group", group.parent ? " of " + group.parent->hash : "", "\n");
      for (const CandidateRecord& sample : group.samples) {
        absl::StrAppend(&text, sample.completion->text(), " ", sample.source.value_or("none"), " ",
                        sample.verdict->reward, "\n");
      }
    }
    return text;
  }
  std::string Restored(const World& world) const {
    const auto journal = Journal::Open(path_);
    if (!journal.ok()) return std::string(journal.status().message());
    const auto state = (*journal)->Restore(world.plan());
    return state.ok() ? state->Fingerprint() : std::string(state.status().message());
  }

  TempDir folder_ = *TempDir::Make("snapshot");
  const std::string path_ = folder_.path() + "/journal.db";
  int snapshots_ = 0;
  std::vector<StepRecord> closed_;
  int ahead_ = 0;  // of these, while rollouts of a step still to be closed were there
  std::string fingerprint_;
};

TEST_F(JournalSnapshotTest, LeadsToTheSameStateAsAllEntries) {
  for (const auto& [max_staleness, parents] :
       {std::pair(0, 0.5), std::pair(1, 0.5), std::pair(2, 0.5), std::pair(1, 0.0)}) {
    for (const int max_refills : {0, 2}) {
      World world({.seed = static_cast<uint64_t>(17 + max_staleness),
                   .workers = 2,
                   .shared = false,
                   .faults = 20,
                   .steps = 8,
                   .warmup = 2,
                   .sets = {absl::StrCat("train.max_staleness=", max_staleness),
                            absl::StrCat("train.dynamic_sampling.max_refills=", max_refills),
                            "train.imitation.size=2", absl::StrCat("search.parents=", parents),
                            "eval.problems=[/v.md, /w.md]", "eval.every=1"},
                   .flat = 0.3});
      ASSERT_EQ(world.Live(), "");
      snapshots_ = ahead_ = 0;
      ASSERT_NO_FATAL_FAILURE(Write(world, 10));
      EXPECT_GT(snapshots_, 3);
      EXPECT_TRUE(ahead_ > 0 || max_staleness == 0);
      EXPECT_EQ(Number("SELECT count(*) FROM snapshots"), 2) << "the newest two are kept";
      EXPECT_GE(closed_.size(), 8u);
      ASSERT_NO_FATAL_FAILURE(ExpectStepsFound(world));
      closed_.clear();
      std::filesystem::remove(path_);
    }
  }
}

// What is imitated follows from all steps before: a trainer that has lost its memory gets it again.
TEST_F(JournalSnapshotTest, GivesEveryUpdatesRequestBackWithWhatItImitates) {
  World world({.seed = 7, .faults = 0, .steps = 8, .sets = {"train.imitation.size=2"}});
  ASSERT_EQ(world.Live(), "");
  ASSERT_GT(world.imitated(), 0);
  ASSERT_NO_FATAL_FAILURE(Write(world, 10));
  ASSERT_NO_FATAL_FAILURE(ExpectStepsFound(world));
  const auto journal = *Journal::Open(path_, /*read_only=*/true);
  const std::vector<v1::UpdateRequest> requests = *world.Requests();
  for (const bool with_snapshots : {true, false}) {
    for (const v1::UpdateRequest& want : requests) {
      const auto got = journal->FindUpdateRequest(world.plan(), want.name());
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(got->SerializeAsString(), want.SerializeAsString()) << with_snapshots;
    }
    Sql("DELETE FROM snapshots");
  }
}

TEST_F(JournalSnapshotTest, ADamagedOneIsNotUsed) {
  World world({.seed = 7, .faults = 0, .steps = 8, .warmup = 2});
  ASSERT_EQ(world.Live(), "");
  ASSERT_NO_FATAL_FAILURE(Write(world, 10));
  for (int damaged = 0; damaged < 2; ++damaged) {
    Sql(
        absl::StrCat("UPDATE snapshots SET proto = proto || x'00' WHERE seq = (SELECT seq FROM "
                     "snapshots ORDER BY seq DESC LIMIT 1 OFFSET ",
                     damaged, ")"));
    EXPECT_EQ(Restored(world), fingerprint_) << damaged;
  }
}

TEST_F(JournalSnapshotTest, WhatLiesBeforeItIsNotRead) {
  World world({.seed = 7, .faults = 0, .steps = 8, .warmup = 2});
  ASSERT_EQ(world.Live(), "");
  ASSERT_NO_FATAL_FAILURE(Write(world, 10));
  Sql("UPDATE rollouts SET text = 'x' WHERE step = 1");
  EXPECT_EQ(Restored(world), fingerprint_) << "opening takes as long as what came since";
  Sql("DELETE FROM snapshots");
  EXPECT_THAT(Restored(world), testing::HasSubstr("in table rollouts is damaged"));
}

TEST_F(JournalSnapshotTest, AMissingEntryAfterItIsNoticed) {
  World world({.seed = 7, .faults = 0, .steps = 8, .warmup = 2});
  ASSERT_EQ(world.Live(), "");
  ASSERT_NO_FATAL_FAILURE(Write(world, 10));
  // The newest may be of the last entry.
  Sql("DELETE FROM snapshots WHERE seq = (SELECT max(seq) FROM snapshots)");
  ASSERT_EQ(Restored(world), fingerprint_);
  const int64_t missing = Number("SELECT max(seq) FROM snapshots") + 1;
  for (const char* table : {"prompts", "rollouts", "verdicts", "leaders", "updates", "checkpoints",
                            "calibrations", "loads"}) {
    Sql(absl::StrCat("DELETE FROM ", table, " WHERE seq = ", missing));
  }
  EXPECT_THAT(Restored(world), testing::HasSubstr(absl::StrCat("entry ", missing, " is missing")));
}

TEST_F(JournalSnapshotTest, StepsAreFoundWithWhatCameBetweenThem) {
  auto journal = *Journal::Create(path_, "c");
  int64_t time_us = kSnapshotTime;
  const auto add = [&](const JournalEntry& entry) {
    ASSERT_TRUE(journal->Append({entry}, ++time_us).ok());
  };
  const auto update = [&](v1::UpdateName::Phase phase, int64_t step) {
    UpdateEntry entry;
    entry.name.set_phase(phase);
    entry.name.set_step(step);
    add(entry);
  };
  CheckpointEntry saved;
  saved.name.set_phase(v1::UpdateName::GRPO);
  saved.name.set_step(1);
  // These are entries 1 and 2, then 3 to 7 and 8 to 11, then 12 and 13.
  add(StartEntry{});
  update(v1::UpdateName::WARMUP, 1);
  for (const int64_t step : {1, 2}) {
    add(PromptEntry{step, {}});
    add(RolloutEntry{step, {}});
    VerdictEntry verdict;
    verdict.step = step;
    add(verdict);
    update(v1::UpdateName::GRPO, step);
    if (step == 1) add(saved);
  }
  add(RolloutEntry{-2, {}});
  add(EvaluationEntry{StepName(-2)});
  EXPECT_EQ(*journal->LastTimeUs(), kSnapshotTime + 13);
  const auto found = [&](int64_t first, int64_t last) {
    const auto range = journal->FindSteps(first, last);
    return range.ok() ? absl::StrCat(range->first, " to ", range->last)
                      : std::string(range.status().message());
  };
  EXPECT_EQ(found(1, 1), "2 to 7") << "with its checkpoint";
  EXPECT_EQ(found(2, 2), "6 to 11");
  EXPECT_EQ(found(1, 2), "2 to 11");
  EXPECT_EQ(found(-2, -2), "11 to 13");
  EXPECT_EQ(found(3, 4), path_ + " holds no rollout of step 3 to 4; the newest are of step 2");
  std::vector<int64_t> times;
  size_t kinds = 0;
  ASSERT_TRUE(journal
                  ->ForEachIn({6, 8},
                              [&](const JournalEntry& entry, std::optional<int64_t> time) {
                                times.push_back(time.value_or(0) - kSnapshotTime);
                                kinds += entry.index();
                                return absl::OkStatus();
                              })
                  .ok());
  EXPECT_EQ(times, (std::vector<int64_t>{6, 7, 8}));
  EXPECT_EQ(kinds, JournalEntry(UpdateEntry{}).index() + JournalEntry(saved).index());
  Sql("DELETE FROM checkpoints");
  EXPECT_TRUE(absl::IsDataLoss(journal->ForEachIn(
      {6, 8}, [](const JournalEntry&, std::optional<int64_t>) { return absl::OkStatus(); })));
}

}  // namespace
}  // namespace whetstone
