#include "coordinator/report/run_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/file.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RunListTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  void MakeRun(const std::string& name) const {
    std::filesystem::create_directories(Path(name));
    std::ofstream(Path(name) + "/campaign.yaml") << "name: x\n";
    std::ofstream(Path(name) + "/journal.db") << "no journal";
  }

  const TempDir folder_ = *TempDir::Make("list");
};

TEST_F(RunListTest, RunsAreFoundTwoFoldersDeep) {
  MakeRun("b run, größer");
  MakeRun("a/run");
  MakeRun("a/run/checkpoints");  // what is in a run is its own
  MakeRun("evals/valid/grpo");
  MakeRun("x/y/z/too-deep");
  std::filesystem::create_directories(Path("empty"));
  std::ofstream(Path("campaign.yaml")) << "a campaign that nobody ran";
  const auto runs = FindRuns(folder_.path());
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_THAT(*runs, ElementsAre(Path("a/run"), Path("b run, größer")));
  EXPECT_THAT(*FindRuns(Path("evals")), ElementsAre(Path("evals/valid/grpo")));
  EXPECT_THAT(*FindRuns(Path("a/run")), ElementsAre(Path("a/run"))) << "itself";
  EXPECT_THAT(*FindRuns(Path("empty")), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(FindRuns(Path("nowhere")).status()));
}

TEST_F(RunListTest, OneThatCannotBeReadIsTold) {
  MakeRun("a");
  const std::vector<ListedRun> runs = {ListRun(Path("a"))};
  ASSERT_FALSE(runs[0].summary.ok());
  const absl::Time now = runs[0].active + absl::Seconds(30);
  const std::string text = RunListText(runs, now);
  EXPECT_THAT(text, HasSubstr("RUN"));
  EXPECT_THAT(text, HasSubstr("unreadable"));
  EXPECT_THAT(text, HasSubstr("30 s ago\n! "));
  EXPECT_THAT(text, HasSubstr(Path("a")));
  const nlohmann::ordered_json json = RunListJson(runs, now)[0];
  EXPECT_EQ(json["run_dir"], Path("a"));
  EXPECT_EQ(json["age_s"], 30);
  EXPECT_EQ(json["error"], std::string(runs[0].summary.status().message()));
}

TEST_F(RunListTest, ARunIsALine) {
  RunSummary summary;
  summary.name = "r";
  summary.steps_total = 4;
  ListedRun fresh{.path = "runs/fresh", .active = absl::UnixEpoch(), .summary = summary};
  fresh.summary->warmup_total = 8;
  fresh.summary->warmup_done = 2;
  summary.steps_done = 4;
  summary.rows = {{{"reward", -0.5}}, {{"reward", 1.25}}};
  summary.incumbents["slow"].verdict.set_speedup(1.5);
  summary.incumbents["multiply"].verdict.set_speedup(9.4);
  summary.health = {{"cut_off", "x", "y"}, {"odd_worker", "x", "y"}, {"odd_worker", "x", "y"}};
  const ListedRun done{.path = "runs/done", .active = absl::UnixEpoch(), .summary = summary};
  const absl::Time now = absl::UnixEpoch() + absl::Hours(3);
  EXPECT_EQ(RunListText({fresh, done}, now),
            "RUN         STATE    STEPS        REWARD        BEST            WRITTEN  ALARMS\n"
            "runs/fresh  stopped  warm-up 2/8                                3 h ago\n"
            "runs/done   done     4/4          -0.50 → 1.25  9.40× multiply  3 h ago  cut_off, "
            "odd_worker");
  const nlohmann::ordered_json json = RunListJson({fresh, done}, now);
  EXPECT_EQ(json[0]["state"], "stopped");
  EXPECT_EQ(json[1]["state"], "done");
  EXPECT_EQ(json[1]["best"]["multiply"], 9.4);
  EXPECT_EQ(json[1]["age_s"], 3 * 3600);
}

TEST_F(RunListTest, APausedRunSaysForHowLong) {
  ListedRun paused{.path = "runs/p", .active = absl::UnixEpoch(), .summary = RunSummary()};
  paused.summary->steps_total = 4;
  paused.summary->owner.emplace();
  const absl::Time now = absl::UnixEpoch() + absl::Hours(3);
  EXPECT_THAT(RunListText({paused}, now), HasSubstr("runs/p  running  "));
  paused.summary->paused_since = absl::UnixEpoch() + absl::Minutes(81);
  EXPECT_THAT(RunListText({paused}, now), HasSubstr("runs/p  paused for 99 min  "));
  EXPECT_EQ(RunListJson({paused}, now)[0]["state"], "paused");
  EXPECT_EQ(RunListJson({paused}, now)[0]["paused_since_us"], 4'860'000'000);
}

}  // namespace
}  // namespace whetstone
