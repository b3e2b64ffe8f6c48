#include "coordinator/journal/run_garbage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/manifest.h"
#include "common/tree_testing.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/create_run.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A run of four steps, each of which was saved; the first one is the best. Two are kept.
class RunGarbageTest : public testing::Test {
 protected:
  // Makes `steps` steps of it.
  void MakeRun(int64_t steps, const std::string& more = "") {
    const v1::Campaign campaign =
        *ParseCampaign(absl::StrCat("name: mine\nmodel: /none\nproblems: [", SourceDir(),
                                    "/prompts/matmul_f32.md]\ntrain: {steps: 4}\n",
                                    "checkpoint: {every: 1, keep: 2", more, "}\n"),
                       "test", "/", {});
    const CampaignPlan plan =
        *BuildPlan(campaign, "mine-01234567", CheckpointDir(campaign, run_, "mine-01234567"));
    const auto run = CreateRun(plan, run_.root());
    ASSERT_TRUE(run.ok()) << run.status();
    for (int64_t step = 1; step <= steps; ++step) {
      UpdateEntry update{plan.NameOf(step)};
      update.row["reward"] = step == 1 ? 0.9 : 0.1;
      const std::string path = plan.CheckpointPath(step);
      ASSERT_TRUE(
          run->journal->Append({update, CheckpointEntry{plan.NameOf(step), path, Save(path), 1}}, 1)
              .ok());
    }
  }
  // Writes a checkpoint of a thousand bytes and its list; returns its checksum.
  static std::string Save(const std::string& path) {
    Write(path + "/model.safetensors", std::string(1000, 'w'));
    const Manifest manifest = *DigestDirectory(path);
    Write(absl::StrCat(path, "/", kManifestFile), ManifestToJson(manifest));
    return ChecksumOf(manifest);
  }
  static void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
  }
  std::string Path(const std::string& name) const { return absl::StrCat(run_.root(), "/", name); }
  RunGarbage Find(std::optional<int> keep = std::nullopt) const {
    absl::StatusOr<RunGarbage> found = FindGarbage(run_, keep);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *std::move(found) : RunGarbage();
  }
  std::vector<std::string> NamesOf(const RunGarbage& garbage) const {
    std::vector<std::string> names;
    for (const Garbage& item : garbage.items) {
      names.push_back(fs::path(item.path).lexically_relative(run_.root()).string());
    }
    return names;
  }

  const TempDir folder_ = *TempDir::Make("garbage");
  const RunPaths run_{folder_.path() + "/run"};
};

TEST_F(RunGarbageTest, WhatResumesForksAndIsBestStays) {
  ASSERT_NO_FATAL_FAILURE(MakeRun(4));
  const RunGarbage garbage = Find();
  EXPECT_THAT(NamesOf(garbage), ElementsAre("checkpoints/step-2"));
  ASSERT_EQ(garbage.items.size(), 1u);
  EXPECT_EQ(garbage.items[0].why, "neither among the newest 2 nor the best");
  EXPECT_GT(garbage.items[0].bytes, 1000);
  EXPECT_EQ(garbage.doubt, "");
  EXPECT_THAT(NamesOf(Find(1)), UnorderedElementsAre("checkpoints/step-2", "checkpoints/step-3"));
  EXPECT_THAT(NamesOf(Find(3)), IsEmpty());
  ASSERT_TRUE(RemoveGarbage(garbage.items[0]).ok());
  EXPECT_FALSE(fs::exists(Path("checkpoints/step-2")));
  EXPECT_FALSE(fs::exists(Path("checkpoints/step-2.tmp-removed")));
  for (const char* kept : {"step-1", "step-3", "step-4"}) {
    EXPECT_TRUE(fs::exists(Path(absl::StrCat("checkpoints/", kept)))) << kept;
  }
  EXPECT_THAT(NamesOf(Find()), IsEmpty());
}

TEST_F(RunGarbageTest, OnlyWhatIsKnownToBeUselessIsFound) {
  ASSERT_NO_FATAL_FAILURE(MakeRun(4));
  for (const char* useless :
       {"checkpoints/step-5.tmp-4711/x", "checkpoints/step-2.tmp-removed/x",
        "checkpoints/warmup.tmp-1/x", "logs/trainer.log", "logs/worker.log", "campaign.yaml.tmp"}) {
    Write(Path(useless), "x");
  }
  for (const char* other :
       {"checkpoints/step-9.part/x", "checkpoints/mine/x", "checkpoints/step-7/x",
        "checkpoints/step-5.tmp-old/x", "checkpoints/step-.tmp-1/x", "checkpoints/step-5.tmp-1x/x",
        "logs/whet.log", "logs/endpoint_usage.jsonl", "logs/old/trainer.log", "workers.yaml",
        "best/matmul_f32/candidate.cc", "suspects/1-0-0.cc", "report.html", "report.html.tmp",
        "control.sock", "control.sock.lock", "lock.host", "mine.tmp"}) {
    Write(Path(other), "x");
  }
  EXPECT_THAT(NamesOf(Find(4)),
              UnorderedElementsAre("checkpoints/step-5.tmp-4711", "checkpoints/step-2.tmp-removed",
                                   "checkpoints/warmup.tmp-1", "logs/trainer.log",
                                   "logs/worker.log", "campaign.yaml.tmp"));
}

TEST_F(RunGarbageTest, LogsOfARunThatGoesOnStay) {
  ASSERT_NO_FATAL_FAILURE(MakeRun(3));
  Write(Path("logs/trainer.log"), "why it died");
  EXPECT_THAT(NamesOf(Find()), IsEmpty());
  EXPECT_THAT(NamesOf(Find(1)), ElementsAre("checkpoints/step-2"));
}

TEST_F(RunGarbageTest, WithoutAWholeNewestCheckpointAllStay) {
  ASSERT_NO_FATAL_FAILURE(MakeRun(4));
  Write(Path("checkpoints/step-4/model.safetensors"), "cut off");
  EXPECT_THAT(NamesOf(Find()), IsEmpty());
  EXPECT_THAT(Find().doubt, HasSubstr("step-4/model.safetensors is not whole"));
  fs::remove_all(Path("checkpoints/step-4"));
  EXPECT_THAT(NamesOf(Find()), IsEmpty());
  EXPECT_THAT(Find().doubt, HasSubstr("its older checkpoints stay: "));
  Write(Path("checkpoints/step-4/other"), "another one");
  Save(Path("checkpoints/step-4"));
  EXPECT_THAT(Find().doubt, HasSubstr("step-4 is another one than the run saved"));
}

TEST_F(RunGarbageTest, WhatLiesElsewhereIsNotTouched) {
  ASSERT_NO_FATAL_FAILURE(MakeRun(4, absl::StrCat(", dir: ", folder_.path(), "/shared")));
  ASSERT_TRUE(fs::exists(folder_.path() + "/shared/mine-01234567/step-2"));
  EXPECT_THAT(NamesOf(Find()), IsEmpty());
}

TEST_F(RunGarbageTest, WhatALinkLeadsToIsNotTouched) {
  ASSERT_NO_FATAL_FAILURE(MakeRun(4));
  fs::rename(Path("checkpoints"), folder_.path() + "/large");
  fs::create_directory_symlink(folder_.path() + "/large", Path("checkpoints"));
  EXPECT_THAT(NamesOf(Find()), IsEmpty());
  fs::remove(Path("checkpoints"));
  fs::rename(folder_.path() + "/large", Path("checkpoints"));
  EXPECT_THAT(NamesOf(Find()), ElementsAre("checkpoints/step-2"));
  fs::rename(Path("checkpoints/step-2"), folder_.path() + "/step-2");
  fs::create_directory_symlink(folder_.path() + "/step-2", Path("checkpoints/step-2"));
  EXPECT_THAT(NamesOf(Find()), IsEmpty());
}

TEST_F(RunGarbageTest, WhatAnotherRunNamesStays) {
  ASSERT_NO_FATAL_FAILURE(MakeRun(4));
  RunGarbage garbage = Find();
  EXPECT_THAT(garbage.named,
              testing::IsSupersetOf({std::string("/none"), Path("checkpoints/step-2")}));
  KeepNamed({"/none", Path("checkpoints/step-3"), Path("checkpoints")}, &garbage);
  EXPECT_EQ(garbage.items.size(), 1u) << "not these";
  fs::create_directory_symlink(run_.root(), folder_.path() + "/link");
  KeepNamed({folder_.path() + "/link/checkpoints/../checkpoints/step-2"}, &garbage);
  EXPECT_THAT(garbage.items, IsEmpty());
  garbage = Find();
  KeepNamed({Path("checkpoints/step-2/adapter")}, &garbage);
  EXPECT_THAT(garbage.items, IsEmpty()) << "what is in it would go with it";
}

TEST_F(RunGarbageTest, WhatAForkHasTooFreesNothing) {
  ASSERT_NO_FATAL_FAILURE(MakeRun(4));
  fs::create_hard_link(Path("checkpoints/step-2/model.safetensors"), folder_.path() + "/forks");
  ASSERT_EQ(Find().items.size(), 1u);
  EXPECT_LT(Find().items[0].bytes, 1000) << "its list alone";
}

}  // namespace
}  // namespace whetstone
