#include "coordinator/journal/eval_samples.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "common/file.h"
#include "coordinator/campaign/campaign_fakes.h"

namespace whetstone {
namespace {

// A campaign is lived through and written down; what is read is compared with what happened.
TEST(EvalSamplesTest, EverySampleOfEveryEvaluation) {
  World world({.seed = 4,
               .workers = 3,
               .shared = false,
               .faults = 10,
               .steps = 3,
               .warmup = 1,
               .sets = {"eval.problems=[/v.md, /w.md]", "eval.every=2", "eval.samples=5"}});
  ASSERT_EQ(world.Live(), "");
  const TempDir folder = *TempDir::Make("samples");
  OpenedRun run;
  run.plan = world.plan();
  run.journal = *Journal::Create(folder.path() + "/journal.db", "c");
  ASSERT_TRUE(run.journal->Append(world.journal(), 1).ok());
  const auto samples = ReadEvaluatedSamples(run);
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_EQ(samples->size(), 3u * 2 * 5);
  std::map<std::string, const VerdictEntry*> verdicts;
  for (const JournalEntry& entry : world.journal()) {
    const auto* verdict = std::get_if<VerdictEntry>(&entry);
    if (verdict != nullptr) verdicts[verdict->verdict.candidate_id()] = verdict;
  }
  int correct = 0;
  size_t i = 0;
  for (const int64_t step : {0, 2, 3}) {
    for (int problem = 0; problem < 2; ++problem) {
      for (int s = 0; s < 5; ++s) {
        const EvaluatedSample& sample = (*samples)[i++];
        EXPECT_EQ(sample.step, step);
        EXPECT_EQ(sample.problem_index, problem);
        EXPECT_EQ(sample.problem_id, problem == 0 ? "v" : "w");
        EXPECT_EQ(sample.sample, s);
        const VerdictEntry& want = *verdicts.at(world.plan().CandidateId(-step, problem, s));
        EXPECT_EQ(sample.outcome, want.verdict.outcome());
        EXPECT_EQ(sample.reward, want.reward);
        EXPECT_EQ(sample.dropped, want.dropped);
        EXPECT_EQ(sample.correct, want.verdict.outcome() == v1::CORRECT);
        EXPECT_EQ(sample.speedup, sample.correct ? want.verdict.speedup() : 0);
        EXPECT_EQ(sample.tokens, 2);
        EXPECT_NEAR(sample.expert_speedup, 4, 1e-12);
        correct += sample.correct ? 1 : 0;
      }
    }
  }
  EXPECT_GT(correct, 0);
}

TEST(EvalSamplesTest, AnEvaluationUnderWayGivesWhatIsJudged) {
  World world(
      {.seed = 4, .steps = 0, .warmup = 0, .sets = {"eval.problems=[/v.md]", "eval.samples=6"}});
  ASSERT_EQ(world.Live(), "");
  std::vector<JournalEntry> entries;
  int verdicts = 0;
  for (const JournalEntry& entry : world.journal()) {
    entries.push_back(entry);
    verdicts += std::holds_alternative<VerdictEntry>(entry) ? 1 : 0;
    if (verdicts == 2) break;
  }
  const TempDir folder = *TempDir::Make("samples");
  OpenedRun run;
  run.plan = world.plan();
  run.journal = *Journal::Create(folder.path() + "/journal.db", "c");
  ASSERT_TRUE(run.journal->Append(entries, 1).ok());
  EXPECT_EQ(ReadEvaluatedSamples(run)->size(), 2u);
}

}  // namespace
}  // namespace whetstone
