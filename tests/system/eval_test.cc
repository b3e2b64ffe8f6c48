// `whet eval` of real models: the raw one and what a campaign made of it in one table; killed in
// the middle it goes on; what can't be evaluated is refused and what was measured stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class EvalTest : public WhetTest {
 protected:
  // Makes a folder with a held-out problem and one for training.
  void SetUp() override {
    WhetTest::SetUp();
    fs::create_directory(Path("problems"));
    const std::string text = *ReadFile(SourceDir() + "/tests/system/multiply.md");
    ASSERT_TRUE(WriteFileAtomically(
                    Path("problems/held_out.md"),
                    absl::StrReplaceAll(text, {{"id: multiply", "id: held_out\nsplit: valid"}}))
                    .ok());
    ASSERT_TRUE(WriteFileAtomically(Path("problems/multiply.md"), text).ok());
  }
  std::vector<std::string> Words(const std::vector<std::string>& models,
                                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"eval"};
    words.insert(words.end(), models.begin(), models.end());
    for (const std::string& word :
         {std::string("--problems"), Path("problems"), std::string("--campaign"),
          Path("campaign.yaml"), std::string("--out"), Path("eval"), std::string("--json")}) {
      words.push_back(word);
    }
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  WhetResult Eval(const std::vector<std::string>& models,
                  const std::vector<std::string>& more = {}) const {
    return Whet(Words(models, more));
  }
  // Returns a number out of the journal of a model's evaluation; -1: it can't be read yet.
  int Number(const std::string& model, const std::string& sql) const {
    sqlite3* db = nullptr;
    int number = -1;
    const std::string path = absl::StrCat(Path("eval/"), model, "/journal.db");
    if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK) {
      sqlite3_busy_timeout(db, 5000);
      const auto take = [](void* out, int, char** values, char**) {
        *static_cast<int*>(out) = values[0] == nullptr ? -1 : std::atoi(values[0]);
        return 0;
      };
      (void)sqlite3_exec(db, sql.c_str(), take, &number, nullptr);  // -1 says that it failed
    }
    sqlite3_close(db);
    return number;
  }
};

TEST_F(EvalTest, TheRawModelAndARunInOneTable) {
  const std::string campaign = WriteCampaign(2);
  const WhetResult run = Whet({"run", campaign, "--run-dir", RunDirectory()});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const std::vector<std::string> models = {"raw=" + TinyModel(), RunDirectory()};
  const WhetResult eval = Eval(models, {"--samples", "4", "--k", "1,4"});
  ASSERT_EQ(eval.exit_code, 0) << eval.out << eval.err;
  EXPECT_THAT(eval.err,
              AllOf(HasSubstr("1 problem of split train is left out"),
                    HasSubstr("model 1 of 2: raw, "), HasSubstr("model 2 of 2: run-step-2"),
                    HasSubstr("run-step-2 less raw"), HasSubstr("best@4")));
  const json result = eval.json();
  ASSERT_EQ(result["models"].size(), 2u) << eval.out;
  for (const json& model : result["models"]) {
    // The response prefix gives a right and fast answer away.
    EXPECT_EQ(model["estimates"]["pass@1"]["value"], 1) << model;
    EXPECT_GT(model["estimates"]["best@4"]["value"].get<double>(), 1.2) << model;
    EXPECT_EQ(model["problems"].size(), 1u);
    EXPECT_EQ(model["problems"][0]["id"], "held_out");
    EXPECT_EQ(model["problems"][0]["samples"].size(), 4u);
    EXPECT_GT(model["problems"][0]["expert_speedup"].get<double>(), 1) << model;
  }
  ASSERT_EQ(result["pairs"].size(), 1u);
  EXPECT_EQ(result["pairs"][0]["estimates"]["pass@1"]["value"], 0);
  EXPECT_THAT(*ReadFile(Path("eval/eval.html")), HasSubstr("run-step-2"));
  EXPECT_TRUE(ServicesOf("whet-trainer").empty());

  // It is done: nothing is generated again, and one of them alone can be shown.
  const WhetResult again = Eval({models[1]}, {"--samples", "4"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("(already evaluated)"));
  EXPECT_EQ(Number("run-step-2", "SELECT count(*) FROM starts"), 1);

  // With other settings it is another evaluation.
  const WhetResult other =
      Eval(models, {"--samples", "4", "--seed", "5", "--set", "generate.temperature=0.5"});
  EXPECT_EQ(other.exit_code, 2) << other.err;
  EXPECT_THAT(other.err,
              AllOf(HasSubstr(Path("eval/raw") + " was made otherwise: seed is 17 there, and 5 is "
                                                 "asked for; generate.temperature is 1 there, and "
                                                 "0.5 is asked for"),
                    HasSubstr("What it measured is kept")));
  EXPECT_EQ(Number("raw", "SELECT count(*) FROM verdicts"), 4);
  // So is one of a problem that was changed, or of a model that was.
  const std::string problem = *ReadFile(Path("problems/held_out.md"));
  ASSERT_TRUE(WriteFileAtomically(
                  Path("problems/held_out.md"),
                  absl::StrReplaceAll(problem, {{"## reference", "Be quick.\n\n## reference"}}))
                  .ok());
  EXPECT_THAT(Eval(models, {"--samples", "4"}).err,
              HasSubstr("problem held_out has been changed since"));
  ASSERT_TRUE(WriteFileAtomically(Path("problems/held_out.md"), problem).ok());
  ASSERT_TRUE(
      WriteFileAtomically(RunDirectory() + "/checkpoints/step-2/resume/manifest.json", "{}").ok());
  EXPECT_THAT(Eval({models[1]}, {"--samples", "4"}).err, HasSubstr("has been changed since"));
}

TEST_F(EvalTest, KilledInTheMiddleItGoesOn) {
  WriteCampaign(2);
  const std::vector<std::string> words = Words({"raw=" + TinyModel()}, {"--samples", "12"});
  const std::unique_ptr<BackgroundProgram> killed = StartWhet(words);
  ASSERT_TRUE(Eventually(
      [&] { return Number("raw", "SELECT count(*) FROM verdicts") > 0 || killed->Ended(); },
      seconds(240)));
  killed->Signal(SIGKILL);
  (void)killed->Wait(seconds(30));
  const int rollouts = Number("raw", "SELECT count(*) FROM rollouts");
  const int last = Number("raw", "SELECT max(seq) FROM verdicts");
  EXPECT_GT(rollouts, 0);
  const WhetResult resumed = Whet(words);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
  EXPECT_EQ(resumed.json()["models"][0]["counts"]["samples"], 12);
  // What was there before is still there, once.
  EXPECT_EQ(Number("raw", "SELECT count(*) FROM rollouts"), 12);
  EXPECT_EQ(Number("raw", "SELECT count(*) FROM verdicts"), 12);
  EXPECT_EQ(Number("raw", absl::StrCat("SELECT count(*) FROM verdicts WHERE seq = ", last)), 1);
}

TEST_F(EvalTest, AModelThatCanNotBeLoadedIsRefusedBeforeAnythingIsMeasured) {
  WriteCampaign(2);
  fs::copy(TinyModel(), Path("broken"));
  fs::resize_file(Path("broken/model.safetensors"), 1000000);
  const WhetResult broken = Eval({"raw=" + TinyModel(), Path("broken")});
  EXPECT_EQ(broken.exit_code, 2) << broken.err;
  EXPECT_THAT(broken.err,
              HasSubstr(Path("broken") + ": 'model': " + Path("broken/model.safetensors")));
  const WhetResult gone = Eval({Path("gone")});
  EXPECT_EQ(gone.exit_code, 2) << gone.err;
  EXPECT_THAT(gone.err, HasSubstr("there is no directory " + Path("gone")));
  EXPECT_FALSE(fs::exists(Path("eval")));
  EXPECT_THAT(Eval({Path("gone") + "@warmup"}).err,
              HasSubstr(Path("gone") + " is not a run directory"));
}

}  // namespace
}  // namespace whetstone
