#include "coordinator/journal/change_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "coordinator/campaign/campaign_fakes.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/durable/request_builders.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/create_run.h"
#include "coordinator/journal/journal_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

// A run of four steps of four rollouts that has ended.
class ChangeSettingsTest : public testing::Test {
 protected:
  ChangeSettingsTest() { EXPECT_EQ(world_.Live(), ""); }
  // Opens the run whose journal holds the first so many entries.
  OpenedRun Open(size_t entries) const {
    OpenedRun run{world_.plan(), *Journal::Create(path_, world_.plan().campaign_id)};
    const auto begin = world_.journal().begin();
    EXPECT_TRUE(run.journal->Append({begin, begin + static_cast<int64_t>(entries)}, 1).ok());
    return run;
  }
  OpenedRun OpenAll() const { return Open(world_.journal().size()); }
  // Opens it as another process would.
  OpenedRun OpenAgain() const {
    OpenedRun run{world_.plan(), *Journal::Open(path_)};
    EXPECT_TRUE(ApplyChanges(*run.journal->Changes(), &run.plan).ok());
    return run;
  }
  static std::string Error(const std::vector<std::string>& sets, OpenedRun* run) {
    return std::string(ChangeSettings(sets, run).status().message());
  }

  World world_{{.steps = 4, .warmup = 1, .sets = {"eval.problems=[/v.md]", "eval.every=3"}}};
  const TempDir folder_ = *TempDir::Make("changes");
  const std::string path_ = folder_.path() + "/journal.db";
};

TEST_F(ChangeSettingsTest, ARunThatHasEndedGoesOnWithOthers) {
  {
    OpenedRun run = OpenAll();
    EXPECT_TRUE(run.journal->Restore(run.plan)->done());
    EXPECT_THAT(Error({"train.steps=8", "seed=3"}, &run), HasSubstr("'seed'"));
    EXPECT_EQ(Error({"train.lr=2e-6"}, &run),
              "'train.lr' counts from the next step on, which is 5, and train.steps is 4: with "
              "--set train.steps=5 or more there is one");
    EXPECT_EQ(Error({"train.steps=2"}, &run),
              "'train.steps' is 2, and the next step is 5: give at least that, or leave the run "
              "where it is");
    EXPECT_EQ(*ChangeSettings({"train.steps=4"}, &run), "");
    EXPECT_TRUE(run.journal->Changes()->empty()) << "nothing changed";
    const std::vector<std::string> sets = {"train.steps=8", "train.lr=2e-6", "train.group_size=2"};
    EXPECT_EQ(*ChangeSettings(sets, &run),
              "from step 5: train.group_size 4 -> 2, train.lr 1e-05 -> 2e-06, train.steps 4 -> 8");
    EXPECT_EQ(*ChangeSettings(sets, &run), "") << "they are so already";
  }
  const OpenedRun run = OpenAgain();
  EXPECT_EQ(run.plan.updates(), 9);
  EXPECT_EQ(run.plan.LearningRateAt(5), world_.plan().LearningRateAt(5)) << "of step 4";
  EXPECT_LE(run.plan.LearningRateAt(6), 2e-6);
  const auto state = run.journal->Restore(run.plan);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->step(), 5);
  EXPECT_EQ(state->open_steps().front().groups[0].samples.size(), 2u);
  // What was done is what it was, the evaluation at the end that the run had included.
  const std::vector<v1::UpdateRequest> requests = *world_.Requests();
  for (const v1::UpdateRequest& want : requests) {
    const auto got = run.journal->FindUpdateRequest(run.plan, want.name());
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->SerializeAsString(), want.SerializeAsString());
  }
  EXPECT_TRUE(run.plan.EvaluationDue(5));
  EXPECT_FALSE(run.plan.EvaluationDue(6));
  const std::vector<RecordedChange> changes = *run.journal->Changes();
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(ChangeText(changes[2].change), "from step 5: train.steps 4 -> 8");
  EXPECT_GT(changes[2].time_us, 1);
}

TEST_F(ChangeSettingsTest, AStepThatHasBegunEndsAsItBegan) {
  for (size_t entries = 0; entries <= world_.journal().size(); ++entries) {
    {
      OpenedRun run = Open(entries);
      const DurableState before = *run.journal->Restore(run.plan);
      const int64_t step = before.FirstUntouchedStep();
      const absl::StatusOr<std::string> changed =
          ChangeSettings({"train.group_size=3", "generate.temperature=0.5", "train.steps=9"}, &run);
      ASSERT_TRUE(changed.ok()) << changed.status();
      EXPECT_THAT(*changed, HasSubstr(absl::StrCat("from step ", step, ":")));
      const auto after = run.journal->Restore(run.plan);
      ASSERT_TRUE(after.ok()) << entries << " entries: " << after.status();
      EXPECT_EQ(after->position(), before.position());
      for (const StepRecord& open : after->open_steps()) {
        const bool evaluated = IsEvaluation(open.step);
        const bool begun = evaluated || open.step < step;
        if (!evaluated) {
          EXPECT_EQ(open.groups[0].samples.size(), begun ? 4u : 3u);
        }
        EXPECT_EQ(BuildGenerate(run.plan, open).sampling().temperature(), begun ? 1 : 0.5);
      }
      // Again, before anything has happened: the later value holds.
      ASSERT_TRUE(ChangeSettings({"generate.temperature=0.25"}, &run).ok());
    }
    {
      const OpenedRun again = OpenAgain();
      EXPECT_TRUE(again.journal->Restore(again.plan).ok());
      EXPECT_EQ(again.plan.campaign.generate().temperature(), 0.25);
      EXPECT_EQ(again.plan.CampaignAt(9).generate().temperature(), 0.25);
      EXPECT_EQ(again.plan.CampaignAt(0).generate().temperature(), 1);
    }
    std::filesystem::remove(path_);
  }
}

TEST_F(ChangeSettingsTest, ACheckMayRefuse) {
  OpenedRun run = OpenAll();
  const auto refused =
      ChangeSettings({"train.steps=8"}, &run, [](const CampaignPlan& plan) -> absl::Status {
        EXPECT_EQ(plan.campaign.train().steps(), 8);
        return absl::InvalidArgumentError("no");
      });
  EXPECT_EQ(refused.status().message(), "no");
  EXPECT_EQ(run.plan.campaign.train().steps(), 4);
  EXPECT_TRUE(run.journal->Changes()->empty());
}

TEST_F(ChangeSettingsTest, ARunThatOnlyEvaluatedDoesNotLearnBesideWhatIsKeptForFinalFigures) {
  const auto campaign =
      ParseCampaign(absl::StrCat("name: mine\nmodel: /none\nproblems: [", SourceDir(),
                                 "/prompts/matmul_f32.md]\ntrain: {steps: 0}\neval: {problems: [",
                                 SourceDir(), "/prompts/test/moments_f64.md]}\n"),
                    "test", "/", {});
  ASSERT_TRUE(campaign.ok()) << campaign.status();
  const RunPaths paths(folder_.path() + "/run");
  ASSERT_TRUE(CreateRun(*BuildPlan(*campaign, "mine-1", "/c"), paths.root()).ok());
  absl::StatusOr<OpenedRun> run = OpenRun(paths, /*read_only=*/false);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(Error({"train.steps=10"}, &*run), HasSubstr("is kept for final figures"));
  EXPECT_TRUE(run->journal->Changes()->empty());
}

TEST_F(ChangeSettingsTest, AChangeWithoutItsPlaceIsDamage) {
  OpenedRun run = OpenAll();
  ASSERT_TRUE(run.journal->Append({ChangeEntry{3, "train.lr", "1e-05", "2e-06"}}, 1).ok());
  EXPECT_THAT(std::string(run.journal->Restore(run.plan).status().message()),
              HasSubstr("a change of train.lr from step 3 on, where step 5 is the next to begin"));
  RunSql(path_, "UPDATE changes SET new = '3e-06'");
  EXPECT_THAT(std::string(run.journal->Changes().status().message()), HasSubstr("is damaged"));
}

}  // namespace
}  // namespace whetstone
