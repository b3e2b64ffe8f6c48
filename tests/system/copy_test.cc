// A run is its directory: moved or copied, it goes on from there and from nowhere else. It may also
// go on with other settings, or as another run from one of its checkpoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

class CopyTest : public WhetTest {
 protected:
  // A run that was killed after its first checkpoint, saved in `dir` if that is given.
  void MakeRun(const std::string& dir = "") {
    auto run = StartWhet({"run", WriteCampaign(12), "--run-dir", RunDirectory(), "--set",
                          "checkpoint.keep=1", "--set", "checkpoint.keep_best=false", "--set",
                          absl::StrCat("checkpoint.dir=", dir)});
    ASSERT_TRUE(Eventually([&] { return Metrics().size() >= 3 || run->Ended(); }));
    ASSERT_FALSE(run->Ended()) << run->out() << run->err();
    run->Signal(SIGKILL);
    run->Wait(seconds(5));
    ASSERT_TRUE(Eventually(
        [&] { return ServicesOf("whet-trainer").empty() && ServicesOf("whet-worker").empty(); }));
    fs::remove(RunDirectory() + "/control.sock");  // the only thing that can't be copied
    ASSERT_FALSE(fs::is_empty(dir.empty() ? RunDirectory() + "/checkpoints" : dir));
  }
  // Every file below `directory` and its content.
  static std::map<std::string, std::string> Contents(const std::string& directory) {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (entry.is_regular_file())
        contents[entry.path().string()] = *ReadFile(entry.path().string());
    }
    return contents;
  }
  // Resumes the run at `root` to its end, from the checkpoint beside it.
  void ExpectGoesOnFromItsOwn(const std::string& root) {
    fs::remove(root + "/logs/trainer.log");
    const WhetResult end = Whet({"resume", root});
    ASSERT_EQ(end.exit_code, 0) << end.out << end.err;
    EXPECT_THAT(end.out + end.err, Not(HasSubstr("can't load a checkpoint")));
    EXPECT_THAT(*ReadFile(root + "/logs/trainer.log"),
                HasSubstr(absl::StrCat("loaded ", root, "/checkpoints/step-")));
    EXPECT_TRUE(fs::exists(root + "/checkpoints/step-12"));
    EXPECT_EQ(std::distance(fs::directory_iterator(root + "/checkpoints"), {}), 1) << "is kept";
  }
};

TEST_F(CopyTest, WhoMayOnlyReadARunCanLookAtIt) {
  const bool root = geteuid() == 0;  // whom only a mount keeps from writing
  if (root && std::system("unshare -m true") != 0) {
    GTEST_SKIP() << "root can make nothing read-only here: it may not mount (CAP_SYS_ADMIN)";
  }
  ASSERT_NO_FATAL_FAILURE(MakeRun());
  const std::string run = RunDirectory();
  const auto look = [&](const std::string& words) {
    const std::string whet = absl::StrCat(Binary("whet"), " ", words);
    const std::string sealed =
        root ? absl::StrCat("mount --bind ", run, " ", run, " && mount -o remount,ro,bind ", run,
                            " && exec ", whet)
             : absl::StrCat("chmod a-w ", run, "; ", whet, "; code=$?; chmod u+w ", run,
                            "; exit $code");
    std::vector<std::string> command = {"sh", "-c", sealed};
    if (root) command.insert(command.begin(), {"unshare", "-m"});
    return BackgroundProgram(command, dir_->path()).Wait(seconds(60));
  };
  const auto before = Contents(run);
  for (const bool with_index : {true, false}) {  // of the log that the killed process has left
    if (!with_index) fs::remove(run + "/journal.db-shm");
    for (const std::string& words : std::vector<std::string>{
             "status", "best", "watch --once", "report --output " + Path("page.html")}) {
      const WhetResult seen = look(absl::StrCat(words, " ", run));
      EXPECT_EQ(seen.exit_code, 0) << words << seen.out << seen.err;
    }
  }
  EXPECT_THAT(look("report " + run).err, HasSubstr("--output FILE"));
  auto expected = before;
  expected.erase(run + "/journal.db-shm");
  EXPECT_TRUE(Contents(run) == expected) << "a file of the run was touched";
}

// The log's index can be read, and its owner holds it. Another process reads: within one, SQLite
// would use the writer's own.
TEST_F(CopyTest, WhoMayOnlyReadARunCanLookAtItWhileItRuns) {
  if (geteuid() != 0 || std::system("unshare -m true") != 0) {
    GTEST_SKIP() << "only who may mount (CAP_SYS_ADMIN) can see a running run read-only";
  }
  auto run = StartWhet({"run", WriteCampaign(1000), "--run-dir", RunDirectory()});
  ASSERT_TRUE(Eventually([&] { return Metrics().size() >= 1 || run->Ended(); }));
  const std::string root = RunDirectory();
  const std::string sealed =
      absl::StrCat("mount --bind ", root, " ", root, " && mount -o remount,ro,bind ", root,
                   " && exec ", Binary("whet"), " status ", root);
  const WhetResult seen =
      BackgroundProgram({"unshare", "-m", "sh", "-c", sealed}, dir_->path()).Wait(seconds(60));
  EXPECT_FALSE(run->Ended()) << run->out() << run->err();
  EXPECT_EQ(seen.exit_code, 0) << seen.out << seen.err;
  EXPECT_THAT(seen.out + seen.err, HasSubstr("running (process"));
  run->Signal(SIGKILL);
  run->Wait(seconds(5));
  EXPECT_TRUE(Eventually(
      [&] { return ServicesOf("whet-trainer").empty() && ServicesOf("whet-worker").empty(); }));
}

TEST_F(CopyTest, ACopyLeavesTheOriginalAlone) {
  ASSERT_NO_FATAL_FAILURE(MakeRun());
  fs::copy(RunDirectory(), Path("copy"), fs::copy_options::recursive);
  const auto before = Contents(RunDirectory());
  ASSERT_NO_FATAL_FAILURE(ExpectGoesOnFromItsOwn(Path("copy")));
  EXPECT_TRUE(Contents(RunDirectory()) == before) << "a file of the original was touched";
}

TEST_F(CopyTest, ACopyLeavesAloneWhatTheOriginalSavedElsewhere) {
  const std::string elsewhere = Path("elsewhere");
  ASSERT_NO_FATAL_FAILURE(MakeRun(elsewhere));
  fs::copy(RunDirectory(), Path("copy"), fs::copy_options::recursive);
  const auto before = Contents(elsewhere);
  const WhetResult end = Whet({"resume", Path("copy")});
  ASSERT_EQ(end.exit_code, 0) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("this is a copy of system-test-"));
  EXPECT_THAT(end.out + end.err, Not(HasSubstr("can't load a checkpoint")));
  const auto after = Contents(elsewhere);
  for (const auto& [path, content] : before) {
    const auto found = after.find(path);
    EXPECT_TRUE(found != after.end() && found->second == content) << path;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(elsewhere), {}), 2) << "each has its folder";
  EXPECT_THAT(Whet({"status", Path("copy")}).out, HasSubstr("a copy of system-test-"));
  EXPECT_EQ(Whet({"resume", RunDirectory()}).exit_code, 0);
}

// An edited campaign.yaml would be believed by nobody, and a deterministic run proves the rest:
// from the same checkpoint and with the same settings the fork samples what the run itself did.
// (What it learns from that follows from its own measurements.)
TEST_F(CopyTest, ARunIsExtendedAndForked) {
  const std::string campaign = WriteCampaign(2,
                                             "deterministic: true\n"
                                             "local: {threads: 2, dtype: fp32, device: cpu}\n"
                                             "reward: {overlong_buffer: 24}\n");
  const WhetResult run = Whet({"run", campaign, "--run-dir", RunDirectory(), "--set",
                               "train.token_budget=300", "--set", "generate.stop=[e, t]"});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const std::string frozen = RunDirectory() + "/campaign.yaml", text = *ReadFile(frozen);
  ASSERT_TRUE(
      WriteFileAtomically(frozen, absl::StrReplaceAll(text, {{"steps: 2", "steps: 4"}})).ok());
  const WhetResult edited = Whet({"resume", RunDirectory()});
  EXPECT_EQ(edited.exit_code, 2);
  EXPECT_THAT(edited.err, HasSubstr("was edited: train.steps 2 -> 4"));
  ASSERT_TRUE(WriteFileAtomically(frozen, text).ok());
  EXPECT_THAT(Whet({"resume", RunDirectory(), "--set", "seed=3"}).err, HasSubstr("'seed'"));

  const auto with_settings = [](std::vector<std::string> words) {
    for (const char* set : {"train.steps=4", "train.lr=3e-4", "generate.temperature=0.9"}) {
      words.insert(words.end(), {"--set", set});
    }
    return words;
  };
  const WhetResult longer = Whet(with_settings({"resume", RunDirectory()}));
  ASSERT_EQ(longer.exit_code, 0) << longer.out << longer.err;
  EXPECT_THAT(longer.out, HasSubstr("from step 3: generate.temperature 1 -> 0.9"));
  EXPECT_EQ(Metrics().size(), 4u);
  EXPECT_EQ(Metrics()[1]["lr"], 1e-4);
  EXPECT_EQ(Metrics()[2]["lr"], 3e-4);
  EXPECT_THAT(Whet({"status", RunDirectory()}).out,
              HasSubstr("from step 3: train.lr 0.0001 -> 0.0003 (20"));

  const std::string fork = Path("fork");
  const WhetResult forked = Whet(with_settings({"fork", RunDirectory(), "2", "--run-dir", fork}));
  ASSERT_EQ(forked.exit_code, 0) << forked.out << forked.err;
  EXPECT_THAT(*ReadFile(fork + "/logs/trainer.log"),
              HasSubstr(absl::StrCat("loaded ", fork, "/checkpoints/step-2")));
  EXPECT_THAT(Whet({"status", fork}).out, HasSubstr("a fork of system-test-"));
  EXPECT_EQ(
      Journal(absl::StrCat("ATTACH '", fork, "/journal.db' AS fork; SELECT sample, step FROM ",
                           "rollouts a JOIN fork.rollouts b USING (step, grp, sample) ",
                           "WHERE step = 3 AND a.text = b.text AND a.proto = b.proto"))
          .size(),
      4u);
  for (const std::string& root : {RunDirectory(), fork}) {
    const WhetResult replay = Whet({"replay", root});
    EXPECT_EQ(replay.exit_code, 0) << replay.out << replay.err;
    EXPECT_THAT(replay.out, HasSubstr("from step 3: train.steps 2 -> 4"));
    EXPECT_THAT(replay.out, HasSubstr("bit for bit equal"));
  }
}

TEST_F(CopyTest, AMovedRunUsesTheCheckpointsBesideIt) {
  ASSERT_NO_FATAL_FAILURE(MakeRun());
  fs::rename(RunDirectory(), Path("moved"));
  ExpectGoesOnFromItsOwn(Path("moved"));
  EXPECT_FALSE(fs::exists(RunDirectory()));
}

}  // namespace
}  // namespace whetstone
