#include "coordinator/usage/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/file.h"
#include "coordinator/usage/command_table.h"

namespace whetstone {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;

using Paths = CompletionAnswer::Paths;

// A command line like whet's.
class CompletionTest : public testing::Test {
 protected:
  CompletionTest() : app_("About it", "whet") {
    CLI::App* run = app_.add_subcommand("run", "Run a campaign from its start\n\nAnd so on.");
    run->add_option("CAMPAIGN", campaign_, "Campaign file");
    run->add_option("--set", sets_, "Changes a key")->type_name("KEY=VALUE");
    run->add_option("--run-dir", folder_, "Run directory")->type_name("FOLDER");
    run->add_option("--split", split_, "Which problems count")->check(OneOf({"train", "valid"}));
    run->add_option("-n,--lines", lines_, "How many");
    run->add_flag("--dry-run", dry_, "Start nothing. Print the plan");
    app_.add_subcommand("resume", "Go on");
    CLI::App* best = app_.add_subcommand("best", "List the fastest");
    best->add_option("RUN", run_, "Run directory");
    best->add_option("PROBLEM", problem_, "Only this problem's program");
    CLI::App* workers = app_.add_subcommand("workers", "Who measures");
    workers->add_option("RUN", run_, "Run directory");
    workers->add_flag("--json", json_, "JSON");
    CLI::App* drain = workers->add_subcommand("drain", "No new work")->fallthrough();
    drain->add_option("NAME", name_, "As in the list");
    drain->add_flag("--force", force_, "Even the last one");
    CLI::App* rescore = app_.add_subcommand("rescore", "Another reward");
    rescore->add_option("--set", sets_, "Of the reward")->type_name("reward.KEY=VALUE");
  }

  CompletionAnswer Answer(const std::vector<std::string>& words) const {
    return Complete(app_, words);
  }
  std::vector<std::string> Words(const std::vector<std::string>& words) const {
    std::vector<std::string> found;
    for (const CompletionWord& each : Answer(words).words) found.push_back(each.word);
    return found;
  }

  CLI::App app_;
  std::string campaign_, folder_, split_, run_, problem_, name_;
  std::vector<std::string> sets_;
  int lines_ = 0;
  bool dry_ = false, json_ = false, force_ = false;
};

TEST_F(CompletionTest, CommandsByTheirBeginning) {
  EXPECT_THAT(Words({""}), ElementsAre("run", "resume", "best", "workers", "rescore"));
  EXPECT_THAT(Words({}), Contains("run")) << "nothing is written yet";
  EXPECT_THAT(Words({"re"}), ElementsAre("resume", "rescore"));
  EXPECT_THAT(Words({"x"}), IsEmpty());
  EXPECT_THAT(Answer({"ru"}).words,
              ElementsAre(Field(&CompletionWord::about, "Run a campaign from its start")));
  EXPECT_THAT(Words({"workers", "runs/x", "dr"}), ElementsAre("drain"));
}

TEST_F(CompletionTest, OptionsOfTheCommand) {
  EXPECT_THAT(Words({"run", "--"}),
              ElementsAre("--help", "--set", "--run-dir", "--split", "--lines", "--dry-run"));
  EXPECT_THAT(Words({"run", "--dr"}), ElementsAre("--dry-run"));
  EXPECT_EQ(Answer({"run", "--dr"}).words.at(0).about, "Start nothing");
  EXPECT_THAT(Words({"run", "c.yaml", "--s"}), ElementsAre("--set", "--split"));
  EXPECT_THAT(Words({"workers", "runs/x", "drain", "--"}), Contains("--json"))
      << "those of a command that it falls through to, too";
  EXPECT_THAT(Words({"run", "c.yaml", ""}), Contains("--set")) << "nothing else can come";
  EXPECT_THAT(Words({"run", "c.yaml", "--", "--"}), IsEmpty());
}

TEST_F(CompletionTest, ValuesOfOptions) {
  EXPECT_THAT(Words({"run", "--split", ""}), ElementsAre("train", "valid"));
  EXPECT_THAT(Words({"run", "--split", "v"}), ElementsAre("valid"));
  EXPECT_THAT(Words({"run", "--split=v"}), ElementsAre("--split=valid"));
  EXPECT_THAT(Words({"run", "--lines", ""}), IsEmpty());
  EXPECT_EQ(Answer({"run", "--lines", ""}).paths, Paths::kNone);
  EXPECT_EQ(Answer({"run", "--run-dir", ""}).paths, Paths::kFolders);
  EXPECT_THAT(Words({"run", "--lines", "5", "--dr"}), ElementsAre("--dry-run"))
      << "the value is passed over";
  EXPECT_EQ(Answer({"run", ""}).paths, Paths::kFiles);
}

TEST_F(CompletionTest, KeysOfACampaign) {
  EXPECT_THAT(Words({"run", "--set", "train.kl_"}),
              ElementsAre("train.kl_beta=", "train.kl_estimator=", "train.kl_reference="));
  EXPECT_EQ(Answer({"run", "--set", "train.group"}).words.at(0).about,
            "Rollouts per problem and step (G)");
  EXPECT_THAT(
      Words({"run", "--set", "train.kl_estimator=k"}),
      ElementsAre("train.kl_estimator=k1", "train.kl_estimator=k2", "train.kl_estimator=k3"));
  EXPECT_THAT(Words({"run", "--set", "profile="}), ElementsAre("profile=true", "profile=false"));
  EXPECT_EQ(Answer({"run", "--set", "model="}).paths, Paths::kFiles);
  EXPECT_THAT(Words({"run", "--set=train.group"}), ElementsAre("--set=train.group_size="));
  EXPECT_THAT(Words({"rescore", "--set", ""}), Contains("reward.wrong_slope="));
  EXPECT_THAT(Words({"rescore", "--set", ""}), Not(Contains("seed=")));
}

TEST_F(CompletionTest, RunsAndWhatIsInThem) {
  const TempDir folder = *TempDir::Make("completion");
  const std::string run = folder.path() + "/runs/one";
  for (const char* made : {"/runs/one/best/matmul_f32", "/runs/one/best/sum_u8", "/runs/none"}) {
    ASSERT_TRUE(MakeDirectories(folder.path() + made).ok());
  }
  ASSERT_TRUE(MakeDirectories(folder.path() + "/runs/two\nlines").ok());
  std::ofstream(run + "/journal.db") << "";
  std::ofstream(folder.path() + "/runs/two\nlines/journal.db") << "";
  EXPECT_THAT(Words({"best", folder.path() + "/"}), ElementsAre(run))
      << "a name of two lines is none to write";
  EXPECT_THAT(Words({"best", folder.path() + "/runs/o"}), ElementsAre(run));
  EXPECT_THAT(Words({"best", folder.path() + "/runs/x"}), IsEmpty());
  EXPECT_EQ(Answer({"best", folder.path() + "/runs/x"}).paths, Paths::kFolders);
  EXPECT_THAT(Words({"best", run, "m"}), ElementsAre("matmul_f32"));
  EXPECT_EQ(Answer({"best", "/nowhere/"}).paths, Paths::kFolders);
}

TEST_F(CompletionTest, TheAnswerIsALineAWord) {
  CompletionAnswer answer;
  answer.words = {{"run", "Run it"}, {"best", ""}};
  EXPECT_EQ(CompletionText(answer), "run\tRun it\nbest\n");
  answer.paths = Paths::kFiles;
  EXPECT_EQ(CompletionText(answer), "run\tRun it\nbest\n:files\n");
}

}  // namespace
}  // namespace whetstone
